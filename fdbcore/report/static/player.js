// The one player of a page: each button with the class play names a part of a call.

const audio = document.getElementById("audio");
const playing = document.getElementById("playing");
const unheard = new Set(); // addresses that this browser could not play
let endTwoFiles = () => {};

const UNPLAYED = "the file is missing, or this browser does not know its format";

/** What stands in the place of a button: why there is nothing to hear. */
function noSound(why) {
  return Object.assign(document.createElement("span"), { className: "silent", textContent: `no sound: ${why}` });
}

/** Play a part of a call, and stop at its end; the button that is playing stops it. */
function play(button) {
  const was = document.querySelector("[data-playing]");
  was?.removeAttribute("data-playing");
  if (was === button && !audio.paused) {
    audio.pause();
    return;
  }
  const { src, from, to, title } = button.dataset;
  button.dataset.playing = "";
  document.getElementById("player").hidden = false;
  playing.textContent = title;
  Object.assign(audio.dataset, { to, address: src });
  endTwoFiles();
  endTwoFiles = () => {};
  const files = src.split(" ");
  if (files.length === 2) {
    endTwoFiles = playTwoFiles(audio, files, Number(to));
    audio.currentTime = from;
  } else audio.src = src.startsWith("data:") ? src : `${src}#t=${from},${to}`;
  audio.play().catch(() => {});
}

audio.addEventListener("timeupdate", () => {
  if (audio.currentTime >= Number(audio.dataset.to)) audio.pause();
});
audio.addEventListener("pause", () => document.querySelector("[data-playing]")?.removeAttribute("data-playing"));
audio.addEventListener("error", () => {
  const { address } = audio.dataset;
  unheard.add(address);
  audio.pause();
  playing.append(" – ", noSound(UNPLAYED));
  for (const button of document.querySelectorAll(".play")) if (button.dataset.src === address) button.replaceWith(noSound(UNPLAYED));
});
document.addEventListener("click", (event) => {
  const button = event.target.closest(".play");
  if (button) play(button);
});
