// Pictures: one SVG for each drawing, in the page's own colours, with its words beside it.
(function () {
  "use strict";
  const NS = "http://www.w3.org/2000/svg";
  const PADDING = 14; // of the card around it
  const SIGNS = { good: "M-3.5 0L-1 3L4 -3", bad: "M-3 -3L3 3M-3 3L3 -3", plain: "" };
  const EDGE = { left: 62, right: 18, top: 14, bottom: 52 };

  function make(name, attributes, parent, text) {
    const node = document.createElementNS(NS, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.appendChild(node);
    return node;
  }

  function scale(axis, from, to) {
    const map = axis.log ? Math.log10 : (value) => value;
    const low = map(axis.low), high = map(axis.high);
    const place = (value) => {
      const at = axis.log ? Math.max(value, axis.low) : value;
      return from + ((map(at) - low) / (high - low)) * (to - from);
    };
    place.back = (pixel) => {
      const share = Math.min(1, Math.max(0, (pixel - from) / (to - from)));
      const at = low + share * (high - low);
      return axis.log ? Math.pow(10, at) : at;
    };
    return place;
  }

  function ticks(axis, room) {
    if (axis.log) {
      const low = Math.ceil(Math.log10(axis.low) - 1e-9), high = Math.floor(Math.log10(axis.high) + 1e-9);
      const step = Math.max(1, Math.ceil((high - low) / Math.max(2, room / 48)));
      const found = [];
      for (let power = high; power >= low; power -= step) found.unshift(Math.pow(10, power));
      if (found.length > 2) return found;
      // Few powers of ten fit: what lies between them is marked, too.
      const between = [];
      for (let power = low - 1; power <= high; power++) {
        for (const factor of [1, 2, 5]) between.push(factor * Math.pow(10, power));
      }
      return between.filter((value) => value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9));
    }
    const span = axis.high - axis.low, raw = span / Math.max(2, Math.min(10, room / 56));
    const size = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = size * [1, 2, 5, 10].find((factor) => factor * size >= raw);
    const found = [];
    for (let at = Math.ceil(axis.low / step - 1e-9) * step; at <= axis.high + span * 1e-9; at += step) found.push(at);
    return found;
  }

  function number(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-3) {
      const [digits, power] = value.toExponential(2).split("e");
      const raised = String(Number(power)).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
      return (Number(digits) === 1 ? "" : Number(digits) + "·") + "10" + raised;
    }
    return String(Number(value.toPrecision(6)));
  }

  function path(trace, x, y) {
    let text = "";
    for (let k = 0; k < trace.x.length; k++) {
      text += (k ? "L" : "M") + x(trace.x[k]).toFixed(1) + " " + y(trace.y[k]).toFixed(1);
    }
    return text;
  }

  // Where the line, as it is drawn, has this value of x.
  function at(trace, value, x, y) {
    const xs = trace.x, ys = trace.y;
    for (let k = 1; k < xs.length; k++) {
      if ((xs[k - 1] <= value && value <= xs[k]) && xs[k] > xs[k - 1]) {
        const from = y(ys[k - 1]), share = (x(value) - x(xs[k - 1])) / (x(xs[k]) - x(xs[k - 1]));
        return y.back(from + (y(ys[k]) - from) * share);
      }
    }
    return null;
  }

  function axes(svg, drawing, x, y, box) {
    const grid = make("g", { class: "grid" }, svg);
    for (const value of ticks(drawing.x, box.right - box.left)) {
      make("line", { x1: x(value), x2: x(value), y1: box.top, y2: box.bottom }, grid);
      make("text", { x: x(value), y: box.bottom + 18, "text-anchor": "middle" }, grid, number(value));
    }
    for (const value of ticks(drawing.y, box.bottom - box.top)) {
      make("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value) }, grid);
      make("text", { x: box.left - 8, y: y(value) + 4, "text-anchor": "end" }, grid, number(value));
    }
    const middle = (box.top + box.bottom) / 2;
    make("text", { class: "label", x: (box.left + box.right) / 2, y: box.bottom + 42, "text-anchor": "middle" }, svg, drawing.x.label);
    make("text", { class: "label", x: 15, y: middle, "text-anchor": "middle", transform: `rotate(-90 15 ${middle})` }, svg, drawing.y.label);
  }

  function spots(svg, drawing, x, y, moved) {
    for (const spot of drawing.spots) {
      const group = make("g", { class: `spot ${spot.mark} ${spot.ink}` }, svg);
      if (spot.box) {
        const [left, right, low, high] = spot.box;
        make("rect", { class: "box", x: x(left), y: y(high), width: Math.max(1, x(right) - x(left)), height: Math.max(1, y(low) - y(high)) }, group);
      }
      const px = x(spot.x), py = y(spot.y);
      make("title", {}, group, `${spot.name}: ${number(Number(spot.x.toPrecision(4)))}, ${number(Number(spot.y.toPrecision(4)))}`);
      make("circle", { class: "halo", cx: px, cy: py, r: 22 }, group);
      make("circle", { class: "dot", cx: px, cy: py, r: 8 }, group);
      make("path", { class: "sign", d: SIGNS[spot.mark], transform: `translate(${px} ${py})` }, group);
      if (spot.drags) {
        group.classList.add("drags");
        group.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          // The picture is drawn anew while the point moves: the window keeps listening.
          const follow = (one) => {
            const now = svg.isConnected ? svg : document.querySelector("#picture svg");
            const frame = now.getBoundingClientRect();
            moved(spot.drags[0], x.back(one.clientX - frame.left), spot.drags[1], y.back(one.clientY - frame.top));
          };
          const stop = () => {
            window.removeEventListener("pointermove", follow);
            window.removeEventListener("pointerup", stop);
          };
          window.addEventListener("pointermove", follow);
          window.addEventListener("pointerup", stop);
        });
      }
    }
  }

  function legend(drawing, readout) {
    const list = document.createElement("ul");
    list.className = "legend";
    for (const trace of drawing.traces) {
      const item = document.createElement("li");
      const sample = make("svg", { width: 30, height: 10, "aria-hidden": "true" });
      make("line", { class: `trace ${trace.ink}${trace.dashed ? " dashed" : ""}`, x1: 1, x2: 29, y1: 5, y2: 5 }, sample);
      const value = document.createElement("span");
      value.className = "value";
      item.append(sample, document.createTextNode(trace.name), value);
      list.appendChild(item);
      readout.push({ trace, value });
    }
    for (const name of new Set(drawing.spots.map((spot) => spot.name))) {
      const spot = drawing.spots.find((one) => one.name === name);
      const item = document.createElement("li");
      const sample = make("svg", { width: 16, height: 16, "aria-hidden": "true" });
      const group = make("g", { class: `spot ${spot.mark}` }, sample);
      make("circle", { class: "dot", cx: 8, cy: 8, r: 7 }, group);
      make("path", { class: "sign", d: SIGNS[spot.mark], transform: "translate(8 8)" }, group);
      item.append(sample, document.createTextNode(name));
      list.appendChild(item);
    }
    return list;
  }

  function draw(home, drawing, moved) {
    if (!drawing) {
      // Whoever drags a slider into a state without a picture must not lose it from under the hand.
      const room = document.createElement("p");
      room.className = "quiet";
      room.textContent = "There is nothing to draw of this.";
      home.replaceChildren(...(home.style.minHeight ? [room] : []));
      return;
    }
    const room = home.parentElement.clientWidth - 2 * PADDING;
    const width = Math.max(280, room), height = Math.round(Math.min(460, Math.max(300, width * 0.72)));
    const box = { left: EDGE.left, right: width - EDGE.right, top: EDGE.top, bottom: height - EDGE.bottom };
    const x = scale(drawing.x, box.left, box.right), y = scale(drawing.y, box.bottom, box.top);
    const svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "picture-title picture-told" });
    make("title", { id: "picture-title" }, svg, drawing.title);
    make("desc", { id: "picture-told" }, svg, drawing.caption);
    axes(svg, drawing, x, y, box);
    for (const trace of drawing.traces) {
      if (trace.filled) make("path", { class: `area ${trace.ink}`, d: path(trace, x, y) + "Z" }, svg);
    }
    for (const trace of drawing.traces) {
      make("path", { class: `trace ${trace.ink}${trace.dashed ? " dashed" : ""}`, d: path(trace, x, y) }, svg);
    }
    const cursor = make("line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" }, svg);
    spots(svg, drawing, x, y, moved);
    const readout = [], caption = document.createElement("p");
    caption.className = "quiet told";
    caption.textContent = drawing.caption;
    const list = legend(drawing, readout);
    svg.addEventListener("pointermove", (event) => {
      const pixel = event.clientX - svg.getBoundingClientRect().left;
      if (pixel < box.left || pixel > box.right) return;
      const value = x.back(pixel);
      cursor.setAttribute("x1", pixel);
      cursor.setAttribute("x2", pixel);
      cursor.setAttribute("visibility", "visible");
      for (const one of readout) {
        const found = one.trace.filled ? null : at(one.trace, value, x, y);
        one.value.textContent = found === null ? "" : ` ≈ ${number(Number(found.toPrecision(3)))} at ${number(Number(value.toPrecision(3)))}`;
      }
    });
    svg.addEventListener("pointerleave", () => {
      cursor.setAttribute("visibility", "hidden");
      for (const one of readout) one.value.textContent = "";
    });
    home.replaceChildren(svg, list, caption);
    // Legends grow and shrink with their numbers: what lies below stays where it is.
    home.style.minHeight = `${Math.max(home.getBoundingClientRect().height, parseFloat(home.style.minHeight) || 0)}px`;
  }

  window.tellapartChart = { draw };
})();
