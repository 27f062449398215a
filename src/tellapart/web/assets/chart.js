// Charts: one SVG for each drawing, in the page's own colours; read by pointer and by keys.
const NS = "http://www.w3.org/2000/svg";
const EDGE = { left: 58, right: 14, top: 10, bottom: 46 };
const SIGNS = { good: "M-3.5 0L-1 3L4 -3", bad: "M-3 -3L3 3M-3 3L3 -3", plain: "" };

function make(name, attributes, parent, text) {
  const node = document.createElementNS(NS, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

function scale(axis, from, to) {
  const map = axis.log ? Math.log10 : (value) => value;
  const low = map(axis.low), high = map(axis.high);
  const place = (value) => from + ((map(axis.log ? Math.max(value, Number.MIN_VALUE) : value) - low) / (high - low)) * (to - from);
  place.back = (pixel) => {
    const at = low + Math.min(1, Math.max(0, (pixel - from) / (to - from))) * (high - low);
    return axis.log ? Math.pow(10, at) : at;
  };
  return place;
}

function ticks(axis, room) {
  const found = [];
  if (axis.log) {
    const low = Math.ceil(Math.log10(axis.low) - 1e-9), high = Math.floor(Math.log10(axis.high) + 1e-9);
    const step = Math.max(1, Math.ceil((high - low) / Math.max(2, room / 48)));
    for (let power = high; power >= low; power -= step) found.unshift(Math.pow(10, power));
    if (found.length > 2) return found;
    found.length = 0; // few powers of ten fit: what lies between them is marked, too
    for (let power = low - 1; power <= high; power++) for (const factor of [1, 2, 5]) found.push(factor * Math.pow(10, power));
    return found.filter((value) => value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9));
  }
  const span = axis.high - axis.low, raw = span / Math.max(2, Math.min(10, room / 56));
  const size = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = size * [1, 2, 5, 10].find((factor) => factor * size >= raw * (1 - 1e-9));
  for (let at = Math.ceil(axis.low / step - 1e-9) * step; at <= axis.high + span * 1e-9; at += step) found.push(at);
  return found;
}

export function number(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) {
    const [digits, power] = value.toExponential(2).split("e");
    const raised = String(Number(power)).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
    return (Number(digits) === 1 ? "" : Number(digits) + "·") + "10" + raised;
  }
  return String(Number(value.toPrecision(6)));
}
const three = (value) => number(Number(value.toPrecision(3)));

// Where the line, as it is drawn, has this value of x.
function at(trace, value, x, y) {
  const xs = trace.x, ys = trace.y;
  for (let k = 1; k < xs.length; k++) {
    if (xs[k - 1] <= value && value <= xs[k] && xs[k] > xs[k - 1] && ys[k] !== null) {
      const from = y(ys[k - 1]), share = (x(value) - x(xs[k - 1])) / (x(xs[k]) - x(xs[k - 1]));
      return y.back(from + (y(ys[k]) - from) * share);
    }
  }
  return null;
}

export class Chart {
  constructor(moved) {
    this.moved = moved; // told when a person moves a point
    this.window = null; // what is zoomed to: low and high of x and of y
    this.place = null; // what is read, along x
  }

  show(figure, drawing) {
    if (this.title !== drawing.title) this.window = this.place = null;
    this.title = drawing.title;
    this.figure = figure;
    this.drawing = drawing;
    this.draw();
  }

  axis(name) {
    const own = this.drawing[name];
    return this.window ? { ...own, low: this.window[name][0], high: this.window[name][1] } : own;
  }

  draw() {
    const { figure, drawing } = this, home = figure.querySelector(".plot");
    const focused = home.contains(document.activeElement) ? document.activeElement.dataset.reads : null;
    const width = Math.max(260, home.clientWidth || 520);
    const height = Math.round(Math.min(figure.classList.contains("wide") ? 620 : 310, Math.max(250, width * 0.66)));
    const box = (this.box = { left: EDGE.left, right: width - EDGE.right, top: EDGE.top, bottom: height - EDGE.bottom });
    const x = (this.x = scale(this.axis("x"), box.left, box.right)), y = (this.y = scale(this.axis("y"), box.bottom, box.top));
    const svg = (this.svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${drawing.title}. ${drawing.caption}` }));
    this.axes(svg, box);
    const clip = make("clipPath", { id: "inside" }, make("defs", {}, svg));
    make("rect", { x: box.left - 3, y: box.top - 3, width: box.right - box.left + 6, height: box.bottom - box.top + 6 }, clip);
    const lines = make("g", { "clip-path": "url(#inside)" }, svg);
    for (const trace of drawing.traces) {
      const d = trace.x.map((value, k) => (trace.y[k] === null ? "" : (k ? "L" : "M") + x(value).toFixed(1) + " " + y(trace.y[k]).toFixed(1))).join("");
      if (trace.filled) make("path", { class: `area ${trace.ink}`, d: d + "Z" }, lines);
      make("path", { class: `trace ${trace.ink}${trace.dashed ? " dashed" : ""}`, d }, lines);
    }
    this.cursor = make("line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" }, svg);
    this.boxed = make("rect", { class: "zoom", visibility: "hidden" }, svg);
    this.reader(svg, box);
    for (const spot of drawing.spots) this.spot(svg, spot);
    this.pointer(svg, box);
    home.replaceChildren(svg);
    if (focused) home.querySelector(`[data-reads="${CSS.escape(focused)}"]`)?.focus();
    if (this.place !== null) this.read(this.place);
  }

  axes(svg, box) {
    const grid = make("g", { class: "grid" }, svg), { x, y } = this;
    for (const value of ticks(this.axis("x"), box.right - box.left)) {
      make("path", { d: `M${x(value)} ${box.top}V${box.bottom}` }, grid);
      make("text", { x: x(value), y: box.bottom + 17, "text-anchor": "middle" }, grid, number(value));
    }
    for (const value of ticks(this.axis("y"), box.bottom - box.top)) {
      make("path", { d: `M${box.left} ${y(value)}H${box.right}` }, grid);
      make("text", { x: box.left - 7, y: y(value) + 4, "text-anchor": "end" }, grid, number(value));
    }
    const middle = (box.top + box.bottom) / 2;
    make("text", { class: "label", x: (box.left + box.right) / 2, y: box.bottom + 38, "text-anchor": "middle" }, svg, this.drawing.x.label);
    make("text", { class: "label", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, svg, this.drawing.y.label);
  }

  // What the lines have at a place, beside their names.
  read(value) {
    const pixel = this.x(value), said = [];
    this.cursor.setAttribute("x1", pixel);
    this.cursor.setAttribute("x2", pixel);
    this.cursor.setAttribute("visibility", "visible");
    const rooms = this.figure.querySelectorAll(".legend .read");
    this.drawing.traces.forEach((trace, k) => {
      const found = at(trace, value, this.x, this.y); // of an outline, the side that bounds attacks
      if (rooms[k]) rooms[k].textContent = found === null ? "" : ` ≈ ${three(found)} at ${three(value)}`;
      if (found !== null) said.push(`${trace.name}: ${three(found)}`);
    });
    return `${this.drawing.x.label} ${three(value)}; ${said.join("; ")}`;
  }

  unread() {
    if (this.place !== null) return;
    this.cursor.setAttribute("visibility", "hidden");
    for (const room of this.figure.querySelectorAll(".legend .read")) room.textContent = "";
  }

  // One step of a key along an axis.
  step(name, value, by) {
    const axis = this.axis(name);
    const next = axis.log ? value * Math.pow(axis.high / axis.low, by / 50) : value + (by * (axis.high - axis.low)) / 50;
    return Math.min(axis.high, Math.max(axis.low, next));
  }

  reader(svg, box) {
    const axis = this.axis("x"), start = this.place ?? (axis.log ? Math.sqrt(axis.low * axis.high) : (axis.low + axis.high) / 2);
    const node = make("rect", {
      class: "reader", "data-reads": "line", x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top,
      tabindex: 0, role: "slider", "aria-label": `Read the lines: ${this.drawing.x.label}`,
      "aria-valuemin": axis.low, "aria-valuemax": axis.high, "aria-valuenow": start, "aria-valuetext": three(start),
    }, svg);
    node.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 }[event.key];
      if (event.key === "+" || event.key === "-") { event.preventDefault(); return this.zoom(event.key === "+" ? 0.5 : 2); }
      if (event.key === "Escape") { this.place = null; return this.unread(); }
      if (by === undefined && event.key !== "Home" && event.key !== "End") return;
      event.preventDefault();
      this.place = event.key === "Home" ? axis.low : event.key === "End" ? axis.high : this.step("x", this.place ?? start, by);
      node.setAttribute("aria-valuenow", this.place);
      node.setAttribute("aria-valuetext", this.read(this.place));
    });
    node.addEventListener("blur", () => { this.place = null; this.unread(); });
  }

  spot(svg, spot) {
    const group = make("g", { class: `spot ${spot.mark} ${spot.ink}` }, svg), { x, y } = this;
    if (spot.box) {
      const [left, right, low, high] = spot.box;
      make("rect", { class: "box", x: x(left), y: y(high), width: Math.max(1, x(right) - x(left)), height: Math.max(1, y(low) - y(high)) }, group);
    }
    const px = x(spot.x), py = y(spot.y), where = `${three(spot.x)}, ${three(spot.y)}`;
    make("title", {}, group, `${spot.name}: ${where}`);
    make("circle", { class: "halo", cx: px, cy: py, r: 20 }, group);
    make("circle", { class: "dot", cx: px, cy: py, r: 7 }, group);
    make("path", { class: "sign", d: SIGNS[spot.mark], transform: `translate(${px} ${py})` }, group);
    if (!spot.drags) return;
    const [first, second] = spot.drags, axis = this.axis(first ? "x" : "y");
    group.classList.add("drags");
    const told = { tabindex: 0, role: "slider", "data-reads": "spot", "aria-label": `${spot.name}: ${this.drawing.x.label}, ${this.drawing.y.label}`,
      "aria-valuemin": axis.low, "aria-valuemax": axis.high, "aria-valuenow": first ? spot.x : spot.y, "aria-valuetext": where };
    for (const key in told) group.setAttribute(key, told[key]);
    const go = (across, up) => {
      const values = {};
      if (first) values[first] = Number(across.toPrecision(4));
      if (second) values[second] = Number(up.toPrecision(4));
      this.moved(values);
    };
    group.addEventListener("keydown", (event) => {
      const key = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!key) return;
      event.preventDefault();
      const across = first ? (second ? key[0] : key[0] + key[1]) : 0, up = second ? (first ? key[1] : key[0] + key[1]) : 0;
      go(this.step("x", spot.x, across), this.step("y", spot.y, up));
    });
    group.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      // The picture is drawn anew while the point moves: the window keeps listening.
      const trail = (one) => {
        const frame = this.svg.getBoundingClientRect();
        go(this.x.back(one.clientX - frame.left), this.y.back(one.clientY - frame.top));
      };
      const stop = () => { window.removeEventListener("pointermove", trail); window.removeEventListener("pointerup", stop); };
      window.addEventListener("pointermove", trail);
      window.addEventListener("pointerup", stop);
    });
  }

  pointer(svg, box) {
    let from = null;
    const inside = (event) => {
      const frame = svg.getBoundingClientRect(), px = event.clientX - frame.left, py = event.clientY - frame.top;
      return [Math.min(box.right, Math.max(box.left, px)), Math.min(box.bottom, Math.max(box.top, py))];
    };
    svg.addEventListener("pointermove", (event) => {
      const [px, py] = inside(event);
      this.read(this.x.back(px));
      if (!from) return;
      const [left, top] = [Math.min(px, from[0]), Math.min(py, from[1])];
      const size = { x: left, y: top, width: Math.abs(px - from[0]), height: Math.abs(py - from[1]), visibility: "visible" };
      for (const key in size) this.boxed.setAttribute(key, size[key]);
    });
    svg.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && event.button === 0) from = inside(event); });
    svg.addEventListener("pointerup", (event) => {
      if (!from) return;
      const to = inside(event), start = from;
      from = null;
      this.boxed.setAttribute("visibility", "hidden");
      if (Math.abs(to[0] - start[0]) < 12 || Math.abs(to[1] - start[1]) < 12) return;
      const order = (one, two) => [Math.min(one, two), Math.max(one, two)];
      this.window = { x: order(this.x.back(start[0]), this.x.back(to[0])), y: order(this.y.back(start[1]), this.y.back(to[1])) };
      this.draw();
    });
    svg.addEventListener("dblclick", () => { this.window = null; this.draw(); });
    svg.addEventListener("pointerleave", () => { from = null; this.boxed.setAttribute("visibility", "hidden"); this.unread(); });
  }

  // Nearer by a factor below 1, about what is read, a point, or the middle; never beyond the drawing.
  zoom(factor) {
    const spot = this.drawing.spots[0];
    const about = (name) => {
      const axis = this.axis(name), whole = this.drawing[name], map = axis.log ? Math.log10 : (v) => v, back = axis.log ? (v) => Math.pow(10, v) : (v) => v;
      const low = map(axis.low), high = map(axis.high), middle = spot ? map(Math.min(axis.high, Math.max(axis.low, spot[name]))) : name === "x" && this.place !== null ? map(this.place) : (low + high) / 2;
      const ends = [low, high].map((end) => middle + (end - middle) * factor);
      return [Math.max(whole.low, back(ends[0])), Math.min(whole.high, back(ends[1]))];
    };
    const next = { x: about("x"), y: about("y") };
    const all = ["x", "y"].every((name) => {
      const { low, high } = this.drawing[name], near = 1e-6 * (high - low);
      return next[name][0] <= low + near && next[name][1] >= high - near;
    });
    this.window = all ? null : next;
    this.draw();
  }
}
