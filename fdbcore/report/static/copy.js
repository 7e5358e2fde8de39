// A button beside a moment that copies the address of the moment, for a message to others.

function copyButton(link, moment) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "link", title: "Copy the link", ariaLabel: `Copy the link to ${moment}` });
  button.dataset.link = link;
  return button;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button) return;
  const address = new URL(button.dataset.link, location.href).href;
  try {
    await navigator.clipboard.writeText(address);
    button.textContent = "copied";
  } catch {
    prompt("The link", address); // a browser may forbid to copy
  }
});
