// CopilotKit's mock of vendors' interfaces (npm @copilotkit/aimock), with the answers in a file; one without any is refused.
//
//     node server.cjs FIXTURES.json
//
// prints its port once it listens.

const { LLMock } = require("@copilotkit/aimock");

const mock = new LLMock({ port: 0, strict: true });
mock.loadFixtureFile(process.argv[2]);
mock.start().then((url) => console.log(new URL(url).port));
