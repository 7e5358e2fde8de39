// Reads what the page embeds: the document, and the peak level of each tick (10 ms) of both sides.

const TICKS_PER_S = 100;
const SAMPLES_PER_MS = 48;
const SIDES = ["A", "B"];
const PALETTE = ["surface", "text", "muted", "line", "a", "b", "on-side", "overlap", "gap", "on-gap", "mark", "warning-text"];

function readDocument() {
  return JSON.parse(document.getElementById("document").textContent);
}

function readBytes(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** The address of the audio that the page contains; null if it links it, or has none. */
function containedAudio() {
  const sound = document.getElementById("sound");
  return sound && URL.createObjectURL(new Blob([readBytes(sound.textContent)], { type: "audio/webm" }));
}

/** The levels of both sides, one byte per tick, from base64 with all of A and then all of B. */
function readPeaks() {
  const levels = readBytes(document.getElementById("peaks").textContent);
  const ticks = levels.length / SIDES.length;
  let loudest = 1;
  for (const level of levels) if (level > loudest) loudest = level;
  return { A: levels.subarray(0, ticks), B: levels.subarray(ticks), loudest };
}

/**
 * The mean level in each of at most `count` + 1 equal parts of [from, to) in ticks, as shares of `highest`. The parts
 * lie on multiples of their size, so that a waveform keeps its shape while it moves.
 */
function reduceLevels(levels, from, to, count, highest) {
  const size = Math.max(1, Math.ceil((to - from) / count));
  const ticks = [];
  const heights = [];
  for (let start = Math.floor(from / size) * size; start < to; start += size) {
    const end = Math.min(start + size, levels.length);
    let sum = 0;
    for (let tick = start; tick < end; tick++) sum += levels[tick];
    ticks.push((start + end) / 2);
    heights.push(sum / (end - start) / highest);
  }
  return { ticks, heights };
}

/** "1:06"; with hours if there are any, and with decimals on request. */
function clockText(seconds, decimals = 0) {
  const unit = 10 ** decimals;
  const rounded = Math.round(seconds * unit) / unit;
  const hours = Math.floor(rounded / 3600);
  const minutes = Math.floor(rounded / 60) % 60;
  const rest = (rounded % 60).toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

const palette = {};

/** Read the colours of the current scheme from the style sheet. */
function readPalette() {
  const style = getComputedStyle(document.documentElement);
  for (const name of PALETTE) palette[name] = style.getPropertyValue(`--${name}`).trim();
}

/** A hexadecimal colour, made transparent. */
function faded(hex, opacity) {
  return hex + Math.round(opacity * 255).toString(16).padStart(2, "0");
}

/** What all plots share. */
function baseLayout(size) {
  const { fontFamily: family } = getComputedStyle(document.body);
  const font = { family, size: size.width < 600 ? 11 : 12, color: palette.muted };
  return {
    ...size,
    font,
    paper_bgcolor: "transparent",
    plot_bgcolor: "transparent",
    showlegend: false,
    hovermode: "closest",
    hoverlabel: {
      bgcolor: palette.surface,
      bordercolor: palette.line,
      font: { ...font, color: palette.text },
      align: "left",
    },
  };
}
