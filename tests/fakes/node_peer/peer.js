// Joins /signal as a side, plays a WAV to it on an absolute schedule and writes what it hears.
//
//   node peer.js --signal ws://127.0.0.1:8765/signal --role B --play in.wav --write out.wav [--start MS] [--tail S]
//
// in.wav: 48 kHz, 16-bit, mono. Its first sample is due at --start, in ms of Unix time (default: once connected).
// --tail seconds after its last it hangs up, writes out.wav, in the same form and from the same instant, and prints one
// line of JSON: the rates at which blocks of 10 ms were handed over, their number, and by how many ms sending was late.
"use strict";
const { parseArgs } = require("node:util");
const fs = require("node:fs");
const WebSocket = require("ws");
const wrtc = require("@roamhq/wrtc");

const RATE = 48000;
const FRAME = 480;
const text = { type: "string" };
const { values: given } = parseArgs({
  options: { signal: text, role: text, play: text, write: text, start: text, tail: { type: "string", default: "0.5" } },
});

const even = (length) => length + (length % 2);

function readWav(path) {
  const bytes = fs.readFileSync(path);
  for (let at = 12; at + 8 <= bytes.length; at += 8 + even(bytes.readUInt32LE(at + 4))) {
    if (bytes.toString("latin1", at, at + 4) !== "data") continue;
    const data = Uint8Array.from(bytes.subarray(at + 8, at + 8 + bytes.readUInt32LE(at + 4)));
    return new Int16Array(data.buffer, 0, data.length >> 1);
  }
  throw new Error(`${path}: no data chunk`);
}

function writeWav(path, samples) {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0, "latin1");
  head.writeUInt32LE(36 + samples.length * 2, 4);
  head.write("WAVEfmt ", 8, "latin1");
  [16, 1 | (1 << 16), RATE, RATE * 2, 2 | (16 << 16)].forEach((word, index) => head.writeUInt32LE(word, 16 + 4 * index));
  head.write("data", 36, "latin1");
  head.writeUInt32LE(samples.length * 2, 40);
  fs.writeFileSync(path, Buffer.concat([head, Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)]));
}

const now = () => performance.timeOrigin + performance.now();

async function main() {
  const played = readWav(given.play);
  const peer = new wrtc.RTCPeerConnection();
  const source = new wrtc.nonstandard.RTCAudioSource();
  const heard = [];
  const rates = new Set();
  let sink = null;
  let start = given.start === undefined ? Infinity : Number(given.start);

  peer.addTrack(source.createTrack());
  peer.ontrack = ({ track }) => {
    sink = new wrtc.nonstandard.RTCAudioSink(track);
    sink.ondata = ({ samples, sampleRate, channelCount }) => {
      if (now() < start) return;
      rates.add(sampleRate);
      // The rate changes with what is heard: 16 kHz for silence, 48 kHz for speech.
      const nearest = (_, index) => samples[Math.floor((index * sampleRate) / RATE) * channelCount];
      heard.push({ at: now(), samples: Int16Array.from({ length: FRAME }, nearest) });
    };
  };
  peer.onconnectionstatechange = () => {
    if (peer.connectionState === "connected" && start === Infinity) start = now();
    if (peer.connectionState === "failed") fail("the connection failed");
  };

  const socket = new WebSocket(given.signal);
  socket.on("error", (error) => fail(error.message));
  socket.on("close", (code, reason) => fail(`closed: ${code} ${reason}`));
  await new Promise((resolve) => socket.once("open", resolve));
  const tell = (message) => socket.send(JSON.stringify({ role: given.role, ...message }));
  peer.onicecandidate = ({ candidate }) => {
    if (!candidate) return;
    const { candidate: line, sdpMid, sdpMLineIndex } = candidate;
    tell({ type: "candidate", candidate: { candidate: line, sdpMid, sdpMLineIndex } });
  };
  const offer = await peer.createOffer();
  await peer.setLocalDescription(offer);
  tell({ type: "offer", sdp: offer.sdp });
  socket.on("message", async (raw) => {
    const message = JSON.parse(raw);
    if (message.type === "error") fail(message.message);
    if (message.role !== given.role) return;
    if (message.type === "answer") await peer.setRemoteDescription({ type: "answer", sdp: message.sdp });
    if (message.type === "candidate") await peer.addIceCandidate(message.candidate);
  });

  let sent = 0;
  let latestMs = 0;
  const pace = setInterval(() => {
    for (; now() >= start + (sent * 1000 * FRAME) / RATE; sent += 1) {
      latestMs = Math.max(latestMs, now() - start - (sent * 1000 * FRAME) / RATE);
      const samples = new Int16Array(FRAME);
      samples.set(played.subarray(sent * FRAME, (sent + 1) * FRAME));
      source.onData({ samples, sampleRate: RATE, bitsPerSample: 16, channelCount: 1, numberOfFrames: FRAME });
    }
    if (now() < start + (played.length / RATE + Number(given.tail)) * 1000) return;
    clearInterval(pace);
    socket.removeAllListeners("close");
    sink?.stop();
    writeWav(given.write, placed(heard, start));
    console.log(JSON.stringify({ rates: [...rates], blocks: heard.length, latestMs }));
    socket.close();
    peer.close();
    socket.once("close", () => process.exit(0));
  }, 2);
}

// The first block lies where it arrived, the others follow it without a gap.
function placed(heard, start) {
  const lead = heard.length === 0 ? 0 : Math.max(0, Math.round(((heard[0].at - start) * RATE) / 1000) - FRAME);
  const all = new Int16Array(lead + heard.length * FRAME);
  heard.forEach(({ samples }, index) => all.set(samples, lead + index * FRAME));
  return all;
}

function fail(line) {
  console.error(line);
  process.exit(1);
}

main().catch((error) => fail(error.message));
