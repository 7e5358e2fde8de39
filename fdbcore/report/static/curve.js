// The share of the opportunities that B has begun to answer, over time.

function drawCurve(root, { latency_ms: latencies, eligible }) {
  if (!eligible) {
    root.hidden = true;
    return;
  }
  const last = latencies.length ? latencies[latencies.length - 1] / 1000 : 0;
  const end = Math.max(last * 1.2, 2);
  const axis = { gridcolor: palette.line, fixedrange: true };
  const size = { width: root.clientWidth, height: root.clientHeight };
  Plotly.react(
    root.querySelector(".chart"),
    [answered(latencies, eligible, end)],
    {
      ...baseLayout({ ...size, margin: { l: 56, r: 20, t: 24, b: 48 } }),
      xaxis: {
        ...axis,
        range: [-0.25, end],
        zerolinecolor: palette.muted,
        title: { text: "seconds after the end of A's turn" },
      },
      yaxis: { ...axis, range: [0, 1.04], zeroline: false, tickformat: ".0%", title: { text: "of all opportunities answered" } },
      annotations: [final(latencies.length, eligible, end)],
    },
    { displayModeBar: false, doubleClick: false, scrollZoom: false },
  );
}

function answered(latencies, eligible, end) {
  const x = [-0.25, ...latencies.map((ms) => ms / 1000), end];
  const y = [0, ...latencies.map((_, index) => (index + 1) / eligible), latencies.length / eligible];
  const hovertext = x.map((time, index) => `within ${time.toFixed(2)} s: ${Math.min(index, latencies.length)} of ${eligible}`);
  return {
    type: "scatter",
    mode: "lines",
    x,
    y,
    hovertext,
    hoverinfo: "text",
    line: { shape: "hv", width: 2.5, color: palette.b },
    fill: "tozeroy",
    fillcolor: faded(palette.b, 0.12),
  };
}

function final(count, eligible, end) {
  return {
    x: end,
    y: count / eligible,
    xanchor: "right",
    yanchor: count / eligible > 0.92 ? "top" : "bottom",
    showarrow: false,
    text: `<b>${count} of ${eligible}</b> answered`,
    font: { color: palette.text, size: 13 },
  };
}
