// The page: questions one at a time, answers in their place, a URL for every view.
import { Chart } from "./chart.js";
import { bind, clearTrouble, follow, trouble } from "./dials.js";

const PATIENCE = 3000; // after so many ms without an answer the next question takes its place
const REST = 120; // ms without a change, after which the URL is set
const find = (id) => document.getElementById(id);
const root = document.documentElement;
const told = JSON.parse(find("told").textContent);
const page = {
  path: told.path, held: told.held || {}, query: told.query ?? new URLSearchParams(told.values).toString(), links: told.links || told.values,
  shape: told.shape || "", drawings: told.drawings || [], picture: told.picture || 0,
  number: 0, busy: null, waiting: null, asking: null, keeping: null,
  later: {}, // what was set after the question that is on its way
};
root.classList.add("script");

// ---- a file stays with the visit; its name, which only this window knows, goes along

const FILE = `tellapart-file-${page.path}`;
const held = () => JSON.parse(sessionStorage.getItem(FILE) || "null");
const lasting = () => document.querySelector(".file input:not([data-once])");

// The file that a question is about: none where the page has none, or an example stands for it.
function asked(values) {
  const input = lasting(), instead = input && values[input.dataset.instead];
  return input && instead !== true && instead !== "yes" ? held() : null;
}

function forget() {
  sessionStorage.removeItem(FILE);
  sayFile();
}

async function take(file, input) {
  const said = input.closest(".file").querySelector(".said"), largest = Number(input.dataset.largest);
  if (!file) return;
  if (file.size > largest) {
    said.textContent = `${file.name} has ${file.size.toLocaleString("en")} bytes, more than the ${largest.toLocaleString("en")} this page takes: use the command line.`;
    return;
  }
  said.textContent = `${file.name}: sending…`;
  const answer = await send(`api/file?name=${encodeURIComponent(file.name)}`, file, "application/octet-stream");
  if (answer.problem) { said.textContent = answer.problem; return; }
  said.textContent = `${file.name}, ${file.size.toLocaleString("en")} bytes`;
  if ("once" in input.dataset) {
    input.value = ""; // so that the same file, changed, can be picked again
    return ask("file", true, { file: answer.file });
  }
  // Names of columns that were typed before any file was seen are meant for this one.
  const another = held() || page.held[input.dataset.instead];
  sessionStorage.setItem(FILE, JSON.stringify({ id: answer.file, said: said.textContent }));
  sayFile();
  if (input.dataset.instead) page.held[input.dataset.instead] = false;
  ask(another ? "file" : "", true);
}

async function remove() {
  try {
    const response = await fetch("api/file", { method: "DELETE" });
    if (!response.ok) return refuse({ problem: REFUSED[response.status] || `The server could not remove it (${response.status}).` });
  } catch {
    return refuse({ problem: "The server does not answer: the file is not removed." });
  }
  lasting().value = ""; // so that the same file can be picked again
  forget();
  ask("file", true);
}

function sayFile() {
  const home = lasting()?.closest(".file");
  if (!home) return;
  home.querySelector(".said").textContent = held()?.said || "";
  home.querySelector("[data-removes]").hidden = !held();
  home.classList.toggle("held", Boolean(held())); // the browser says "No file chosen" of controls that are built anew
}

// ---- asking: one question at a time; what changes meanwhile is asked together afterwards

const REFUSED = {
  403: "The server refused this: it answers this page alone.",
  413: "The file is too large for this page: use the command line.",
  421: "The server refused this: it answers at its own address alone.",
  429: "Too many questions at once: try again in a moment.",
};

async function send(address, body, kind, signal) {
  let response;
  try {
    response = await fetch(address, { method: "POST", body, headers: { "Content-Type": kind }, signal });
  } catch (error) {
    if (error.name === "AbortError") return { aborted: true };
    return { problem: "The server does not answer. If it was stopped, start it again: tellapart explore." };
  }
  if (response.status === 410) forget();
  try {
    const answer = await response.json();
    return response.ok || answer.problem ? answer : { problem: REFUSED[response.status] || `The server refused this (${response.status}).` };
  } catch {
    return { problem: REFUSED[response.status] || `The server could not answer this (${response.status}).` };
  }
}

const values = () => {
  const set = { ...Object.fromEntries(new URLSearchParams(page.query)), ...page.held }, file = asked(set);
  return { ...set, ...(file ? { file: file.id } : {}) };
};

async function ask(changed, named, once) {
  if (page.busy && performance.now() - page.busy < PATIENCE) {
    if (page.waiting === null || named) page.waiting = [changed, named, once];
    return;
  }
  page.waiting = null;
  page.later = {};
  page.asking?.abort();
  page.asking = new AbortController();
  const number = (page.number += 1);
  root.dataset.asked = number;
  page.busy = performance.now();
  const slow = setTimeout(() => { find("working").textContent = "Working…"; }, 700);
  const body = JSON.stringify({ ...values(), ...once, changed: changed || "", shape: page.shape });
  const answer = await send(`api/${page.path}`, body, "application/json", page.asking.signal);
  clearTimeout(slow);
  if (answer.aborted || number !== page.number) return;
  find("working").textContent = "";
  page.busy = null;
  show(answer, number, changed);
  if (page.waiting) ask(...page.waiting);
}

function change(field, value, named) {
  page.held[field] = page.later[field] = value;
  ask(field, named);
}

// What cannot be asked: what was asked before is no answer to it either.
function wrong(field, problem) {
  page.asking?.abort();
  [page.busy, page.waiting] = [null, null];
  root.dataset.asked = root.dataset.shown = page.number += 1;
  find("working").textContent = "";
  refuse({ field, problem });
  keep();
}

// ---- showing

function refuse(answer) {
  const words = answer.problem + (answer.command ? ` On your own machine: ${answer.command}` : "");
  const note = trouble(answer.field, words);
  // At its field, and above where no answer stands or the field is out of sight, as on a phone.
  const seen = note && note.getClientRects().length > 0 && find("answer").childElementCount > 0;
  find("trouble").textContent = seen ? "" : words;
  const stale = find("answer").childElementCount > 0 && !answer.instead;
  find("answer").classList.toggle("stale", stale);
  if (stale) withhold();
}

// What can be taken along is of the last value that was none of these.
function withhold() {
  for (const one of find("answer").querySelectorAll(".take .buttons, .codes")) one.inert = true;
  const take = find("answer").querySelector(".take");
  if (!take) return;
  const room = find("no-file") || node("p", "", { id: "no-file", role: "alert", class: "trouble" });
  room.textContent = "Nothing can be taken along until this value is mended.";
  take.append(room);
}

function show(answer, number, changed) {
  if (answer.problem) {
    // The columns of another file are offered also where it cannot be audited yet.
    if (answer.held && (changed === "" || (changed === "file" && lasting()))) place(answer);
    refuse(answer);
  } else {
    clearTrouble();
    find("trouble").textContent = "";
    find("answer").classList.remove("stale");
    Object.assign(page, { query: answer.query, links: answer.links, drawings: answer.drawings, picture: answer.picture });
    place(answer);
    const home = find("answer"), active = document.activeElement;
    const kept = home.contains(active) ? [active.id, active.dataset.reads, active.dataset.picture, active.dataset.chart] : null;
    const open = [...home.querySelectorAll("details[open]")].map((one) => one.id || one.className);
    const wide = home.querySelector("#chart.wide");
    home.innerHTML = answer.answer;
    if (wide) home.querySelector("#chart")?.classList.add("wide");
    for (const one of home.querySelectorAll("details")) if (open.includes(one.id || one.className)) one.open = true;
    picture();
    if (kept) {
      const [id, reads, thumb, tool] = kept;
      const again = id ? find(id) : reads ? home.querySelector(`[data-reads="${reads}"]`) : thumb ? home.querySelector(`[data-picture="${thumb}"]`) : tool ? home.querySelector(`[data-chart="${tool}"]`) : null;
      again?.focus();
    }
    later();
  }
  root.dataset.shown = number;
  clearTimeout(page.keeping);
  page.keeping = setTimeout(keep, REST);
}

// Controls: those of another state are built anew, and the focus stays where it was.
function place(answer) {
  page.held = { ...answer.held, ...page.later };
  page.shape = answer.shape;
  if (answer.controls !== undefined) {
    const focus = document.activeElement?.id, open = [...document.querySelectorAll("#controls details[open] > summary")].map((one) => one.textContent);
    find("controls").innerHTML = answer.controls;
    find("bar-dial").innerHTML = answer.bar;
    for (const one of document.querySelectorAll("#controls summary")) if (open.includes(one.textContent)) one.parentElement.open = true;
    if (focus && document.activeElement?.id !== focus) find(focus)?.focus();
    follow(page.later);
    sayFile();
  } else follow(page.held);
}

// A part of the answer that takes longer than the rest is asked for by itself.
async function later() {
  const room = document.querySelector("[data-part]"), number = page.number;
  if (!room) return;
  const body = JSON.stringify({ ...values(), changed: "", shape: page.shape, part: room.dataset.part });
  const answer = await send(`api/${page.path}`, body, "application/json", page.asking?.signal);
  if (answer.aborted || number !== page.number || !room.isConnected) return;
  if (answer.html) room.innerHTML = answer.html;
  else room.textContent = answer.problem;
  root.dataset.parted = number;
}

const chart = new Chart((moved) => {
  const last = Object.keys(moved).at(-1);
  Object.assign(page.held, moved);
  Object.assign(page.later, moved);
  follow(moved);
  ask(last);
});

function picture() {
  const drawing = page.drawings[page.picture], figure = find("chart");
  if (drawing && figure) chart.show(figure, drawing);
  addresses();
}

function pick(k) {
  page.picture = k;
  const drawing = page.drawings[k], figure = find("chart"), query = new URLSearchParams(page.query);
  if (k) query.set("picture", drawing.kind);
  else query.delete("picture");
  page.query = query.toString();
  for (const one of document.querySelectorAll("[data-picture]")) one.setAttribute("aria-pressed", String(Number(one.dataset.picture) === k));
  figure.querySelector("h2").textContent = drawing.title;
  figure.querySelector("figcaption p").textContent = drawing.caption;
  figure.querySelector(".legend").replaceChildren(...names(drawing));
  table(figure.querySelector(".astable table"), drawing.table);
  picture();
  keep();
}

function node(name, text, attributes) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  for (const key in attributes || {}) made.setAttribute(key, attributes[key]);
  return made;
}

function names(drawing) {
  const svg = (inside, width, height) => {
    const made = new DOMParser().parseFromString(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" aria-hidden="true">${inside}</svg>`, "image/svg+xml").documentElement;
    return document.importNode(made, true);
  };
  const lines = drawing.traces.map((trace) => {
    const item = node("li"), kind = `trace ${trace.ink}${trace.dashed ? " dashed" : ""}`;
    item.append(svg(`<path class="${kind}" d="M1 5H29"/>`, 30, 10), trace.name, node("span", "", { class: "read" }));
    return item;
  });
  const spots = new Map(drawing.spots.map((spot) => [spot.name, spot]));
  return [...lines, ...[...spots.values()].map((spot) => {
    const item = node("li");
    item.append(svg(`<g class="spot ${spot.mark}"><circle cx="7" cy="7" r="5"/></g>`, 14, 14), spot.name);
    return item;
  })];
}

function table(home, [head, ...rows]) {
  const first = node("tr");
  first.append(...head.map((cell) => node("th", cell, { scope: "col" })));
  home.tHead.replaceChildren(first);
  home.tBodies[0].replaceChildren(...rows.map((row) => {
    const made = node("tr");
    made.append(...row.map((cell, k) => node(k ? "td" : "th", cell, k ? {} : { scope: "row" })));
    return made;
  }));
}

// Links carry what is set: to other views, and to files of this one.
function addresses() {
  const links = new URLSearchParams(page.links || {}).toString();
  for (const link of document.querySelectorAll("header nav a[data-view]")) {
    link.setAttribute("href", link.dataset.view + (links ? "?" + links : ""));
  }
  const own = new URLSearchParams(page.query);
  const file = asked(values());
  if (file) own.set("file", file.id);
  for (const link of document.querySelectorAll("a[data-kind]")) link.setAttribute("href", `api/${page.path}/${link.dataset.kind}?${own}`);
}

// The URL follows once the hand rests: browsers allow few changes of it in a second.
function keep() {
  clearTimeout(page.keeping);
  const wanted = location.pathname + (page.query ? "?" + page.query : "");
  if (location.pathname + location.search !== wanted) history.replaceState(null, "", wanted);
  root.dataset.kept = root.dataset.shown;
}

// ---- the rest of the page

function save(blob, name) {
  const link = node("a", "", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A file to keep; what cannot be had is said beside its button.
async function download(button, address) {
  const room = find("no-file") || node("p", "", { id: "no-file", role: "alert", class: "trouble" });
  room.textContent = "";
  button.closest(".take").append(room);
  try {
    const response = await fetch(address);
    const name = decodeURIComponent(/filename\*=UTF-8''([^;]+)/.exec(response.headers.get("Content-Disposition"))?.[1] || "tellapart");
    if (response.status === 410) forget();
    if (response.ok) return { name, blob: await response.blob() };
    const words = await response.text();
    let problem = words;
    try { problem = JSON.parse(words).problem; } catch { /* a line of text */ }
    room.textContent = `This cannot be had: ${problem || `the server could not answer (${response.status}).`}`;
  } catch {
    room.textContent = "This cannot be had: the server does not answer.";
  }
  return null;
}

// The picture as the server writes it, on white, at twice its size.
async function png(button) {
  const found = await download(button, document.querySelector("a[data-kind=svg]").href);
  if (!found) return;
  const picture = new Image(), { blob } = found;
  picture.src = URL.createObjectURL(blob);
  await picture.decode();
  const canvas = node("canvas");
  [canvas.width, canvas.height] = [picture.width * 2, picture.height * 2];
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(picture.src);
  canvas.toBlob((made) => save(made, "tellapart.png"), "image/png");
}

function copy(button, text) {
  const label = button.textContent;
  navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select and copy it"; })
    .then(() => setTimeout(() => { button.textContent = label; }, 1500));
}

// On a phone the settings are a modal sheet: all else is inert, so that the focus stays in it.
function sheet(open) {
  const form = find("settings"), home = find("sheet");
  if (open === root.classList.contains("sheet")) return;
  root.classList.toggle("sheet", open);
  for (const [name, value] of [["role", "dialog"], ["aria-modal", "true"], ["aria-label", "Settings"]]) {
    if (open) home.setAttribute(name, value);
    else home.removeAttribute(name);
  }
  const behind = [...document.body.children, ...home.parentElement.children];
  for (const one of behind) if (!one.contains(form)) one.inert = open;
  if (open) page.scrolled = scrollY;
  scrollTo(0, open ? 0 : page.scrolled);
  (open ? form.querySelector("h2") : find("all-settings")).focus({ preventScroll: true });
}
const wide = matchMedia("(min-width: 56.01rem)");
wide.addEventListener("change", () => { if (wide.matches) sheet(false); }); // a phone that was turned

// From the last control on to the first, and back: the browser's own bar is not between them.
function circle(event) {
  const css = "a[href], button, input, select, textarea, summary";
  const every = [...find("settings").querySelectorAll(css)].filter((one) => !one.disabled && one.getClientRects().length);
  const [first, last] = [every[0], every.at(-1)], at = document.activeElement;
  const out = event.shiftKey ? at === first || !every.includes(at) : at === last;
  if (!out) return;
  event.preventDefault();
  (event.shiftKey ? last : first).focus();
}

document.addEventListener("click", (event) => {
  const at = (css) => event.target.closest(css);
  const thumb = at("[data-picture]"), tool = at("[data-chart]"), set = at("[data-sets]");
  if (thumb) pick(Number(thumb.dataset.picture));
  else if (set) {
    for (const [field, value] of Object.entries(JSON.parse(set.dataset.sets))) page.held[field] = value;
    ask(Object.keys(JSON.parse(set.dataset.sets)).at(-1), true);
  } else if (tool?.dataset.chart === "in") chart.zoom(0.5);
  else if (tool?.dataset.chart === "out") chart.zoom(2);
  else if (tool?.dataset.chart === "wide") { find("chart").classList.toggle("wide"); chart.draw(); }
  else if (at("[data-png]")) png(at("[data-png]"));
  else if (at("a[data-kind]") && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    download(at("a[data-kind]"), at("a[data-kind]").href).then((found) => found && save(found.blob, found.name));
  }
  else if (at("[data-opens]")) find(at("[data-opens]").dataset.opens).open = true;
  else if (at("[data-copies]")) copy(at("[data-copies]"), find(at("[data-copies]").dataset.copies + "-text").textContent);
  else if (at("[data-saves]")) save(new Blob([find(at("[data-saves]").dataset.saves + "-text").textContent], { type: "application/toml" }), at("[data-saves]").dataset.name);
  else if (at("[data-removes]")) remove();
  else if (at("#copy-link")) { keep(); copy(at("#copy-link"), location.href); }
  else if (at("#all-settings")) sheet(true);
  else if (at("#done")) sheet(false);
});
document.addEventListener("keydown", (event) => {
  if (!root.classList.contains("sheet")) return;
  if (event.key === "Escape") sheet(false);
  if (event.key === "Tab") circle(event);
});
for (const home of [find("settings"), find("bar")]) if (home) bind(home, change, take, wrong);
window.addEventListener("pagehide", keep);
let resized = null;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => { if (page.drawings.length && find("chart")) chart.draw(); }, 60);
});
sayFile();
picture();
root.dataset.asked = root.dataset.shown = root.dataset.kept = 0;
if (told.problem) { refuse(told); if (told.instead) later(); }
else if (told.held === undefined || held()) ask(""); // nothing is answered yet, or not with the file
else later();
