// The whole call as a strip above the timeline, with the worst moments or those of the open list, and the part that the
// timeline shows.

const MOST_MARKS = 20;

class Overview {
  constructor(root, data, onMove) {
    Object.assign(this, { root, data, onMove });
    this.marked = data.moments.slice(0, MOST_MARKS);
    this.chart = root.querySelector(".chart");
    this.window = root.querySelector(".window");
    this.playhead = root.querySelector(".playhead");
    root.addEventListener("pointerdown", (event) => {
      root.setPointerCapture(event.pointerId);
      this.move(event);
    });
    root.addEventListener("pointermove", (event) => root.hasPointerCapture(event.pointerId) && this.move(event));
  }

  get margin() {
    return { ...plotMargin(this.root.clientWidth), t: 0, b: 0 };
  }

  get pxPerSecond() {
    return (this.root.clientWidth - this.margin.l - this.margin.r) / this.data.length_s;
  }

  move(event) {
    const x = event.clientX - this.root.getBoundingClientRect().left - this.root.clientLeft - this.margin.l;
    this.onMove(x / this.pxPerSecond);
  }

  draw() {
    const hidden = { visible: false, fixedrange: true };
    const layout = {
      ...baseLayout({ width: this.root.clientWidth, height: this.root.clientHeight, margin: this.margin }),
      xaxis: { ...hidden, range: [0, this.data.length_s] },
      yaxis: { ...hidden, range: [-1.1, 1.1] },
    };
    return Plotly.react(this.chart, [leftOut(this.data, { top: 1.1 }), this.wave("A", 1), this.wave("B", -1), this.moments()], layout, { staticPlot: true });
  }

  wave(side, direction) {
    const levels = this.data.peaks[side];
    const { ticks, heights } = reduceLevels(levels, 0, levels.length, this.root.clientWidth / 2, this.data.peaks.loudest);
    const highest = Math.max(...heights) || 1;
    return {
      type: "scatter",
      mode: "lines",
      x: ticks.map((tick) => tick / TICKS_PER_S),
      y: heights.map((height) => (direction * height) / highest),
      fill: "tozeroy",
      fillcolor: palette[side.toLowerCase()],
      line: { width: 0 },
    };
  }

  /** Mark these moments; null: the worst. */
  show(moments) {
    this.marked = moments ?? this.data.moments.slice(0, MOST_MARKS);
    this.draw();
  }

  moments() {
    return {
      type: "scatter",
      mode: "markers",
      x: this.marked.map((moment) => moment.start_s),
      y: this.marked.map(() => 0.98),
      marker: { symbol: "triangle-down", size: 8, color: palette.text },
    };
  }

  showWindow([from, to]) {
    this.window.style.left = `${this.margin.l + from * this.pxPerSecond}px`;
    this.window.style.width = `${(to - from) * this.pxPerSecond}px`;
  }

  setTime(time) {
    this.playhead.style.transform = `translateX(${this.margin.l + time * this.pxPerSecond}px)`;
  }
}
