// Plays a call whose sides are two files: silence as long as the call has the controls, and both files follow it.

const SILENCE_HZ = 8000;
const EXACT_S = 0.001;
const MOST_DRIFT_S = 0.03;
const FAR_S = 0.25;
const CATCH_UP_PER_S = 4;

/** The address of a WAV file of silence. Either side may begin later or end earlier than the call; this does neither. */
function silence(length_s) {
  const samples = new Uint8Array(Math.ceil(length_s * SILENCE_HZ)).fill(128);
  const [riff, wave, format, data] = [0x46464952, 0x45564157, 0x20746d66, 0x61746164];
  const [monoPcm, bytes] = [0x00010001, 0x00080001];
  const header = Uint32Array.of(riff, 36 + samples.length, wave, format, 16, monoPcm, SILENCE_HZ, SILENCE_HZ, bytes, data, samples.length);
  return URL.createObjectURL(new Blob([header, samples], { type: "audio/wav" }));
}

/**
 * Play two files by the controls of one audio element; returns what ends that. addresses: as `audio_url` writes them.
 */
function playTwoFiles(controls, addresses, length_s) {
  const ending = new AbortController();
  const sides = addresses.map((address) => ({ audio: new Audio(address), lead_s: Number(address.split("#lead=")[1] ?? 0) }));
  const follow = () => sides.forEach((side) => keepInStep(controls, side));
  const followEachFrame = () => {
    follow();
    if (!controls.paused && !ending.signal.aborted) requestAnimationFrame(followEachFrame);
  };
  const on = (element, name, action) => element.addEventListener(name, action, { signal: ending.signal });
  for (const { audio } of sides) on(audio, "error", () => controls.dispatchEvent(new Event("error")));
  for (const name of ["loadedmetadata", "seeking", "seeked", "timeupdate", "pause", "ratechange", "volumechange"]) on(controls, name, follow);
  on(controls, "play", followEachFrame);
  controls.after(...sides.map(({ audio }) => audio));
  controls.src = silence(length_s);
  return () => {
    ending.abort();
    URL.revokeObjectURL(controls.src);
    for (const { audio } of sides) {
      audio.pause();
      audio.remove();
    }
  };
}

/** Bring a side to the time of the controls: while it is heard, a small drift is made up by its rate, without a gap. */
function keepInStep(controls, { audio, lead_s }) {
  const time = controls.currentTime - lead_s;
  const length_s = audio.duration || Infinity;
  const isHeard = !controls.paused && !controls.seeking && controls.readyState > HTMLMediaElement.HAVE_CURRENT_DATA && time >= 0 && time < length_s;
  const there = Math.min(Math.max(time, 0), length_s);
  const behind_s = there - audio.currentTime;
  const isFar = Math.abs(behind_s) > (isHeard ? FAR_S : EXACT_S);
  if (isFar && !(isHeard && audio.seeking)) audio.currentTime = there;
  const isOff = !isFar && Math.abs(behind_s) > MOST_DRIFT_S;
  audio.playbackRate = controls.playbackRate * (isOff ? 1 + CATCH_UP_PER_S * behind_s : 1);
  audio.volume = controls.volume;
  audio.muted = controls.muted;
  if (!isHeard) audio.pause();
  else if (audio.paused && !audio.error) audio.play().catch(() => {});
}
