// Controls: native inputs that stand on the page already; what they hold, and what is wrong with it.
const STEPS = 1000;

export function position(slider, value) {
  const low = Number(slider.dataset.low), high = Number(slider.dataset.high);
  const share = slider.dataset.scale === "linear"
    ? (value - low) / (high - low)
    : Math.log(Math.max(value, low) / low) / Math.log(high / low);
  return Math.round(STEPS * Math.min(1, Math.max(0, share)));
}

export function valueAt(slider, place) {
  const low = Number(slider.dataset.low), high = Number(slider.dataset.high), share = place / STEPS;
  const scale = slider.dataset.scale;
  const value = scale === "linear" ? low + share * (high - low) : low * Math.pow(high / low, share);
  if (scale === "whole") return Math.max(low, Math.round(Number(value.toPrecision(2))));
  return Number(value.toPrecision(3));
}

export function written(value) {
  const size = Math.abs(value);
  return size !== 0 && size < 1e-4 ? value.toExponential().replace("e+", "e") : String(value);
}

const fields = (name) => document.querySelectorAll(`[data-field="${CSS.escape(name)}"]`);

// A number typed as people do: 1e-5, and 60,000 where it is whole; elsewhere a comma may be meant as
// a point. Null while it is none.
function typed(text, whole) {
  const plain = text.trim().replace("−", "-");
  const grouped = whole && /^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(plain);
  const value = grouped ? Number(plain.replaceAll(",", "")) : Number(plain);
  return plain !== "" && Number.isFinite(value) ? value : null;
}

function unread(text) {
  if (text.trim() === "") return "This is empty: type a number such as 0.5 or 1e-5.";
  if (/^\s*[-−]?\d+,\d+\s*$/.test(text)) return `${text} can be read in two ways: write ${text.trim().replace(",", ".")} or ${Number(text.replace("−", "-").replace(",", ""))}.`;
  return `${text} is not a number: type one such as 0.5, 60000 or 1e-5.`;
}

function show(field, value, except) {
  for (const home of fields(field)) {
    for (const input of home.querySelectorAll("input, select")) {
      if (input === except || input.type === "file") continue;
      if (input.type === "range") {
        if (document.activeElement !== input) input.value = position(input, value);
        input.dataset.before = input.value;
        input.setAttribute("aria-valuetext", written(value));
      } else if (input.type === "checkbox") input.checked = value;
      else if (input.type === "radio") input.checked = input.value === String(value);
      else if (input.tagName === "SELECT") {
        if ([...input.options].some((one) => one.value === String(value))) input.value = value;
      } else if (input.dataset.unsaid === value) input.value = ""; // its placeholder says what is asked
      else if (document.activeElement !== input) input.value = typeof value === "number" ? written(value) : value;
    }
  }
}

// What the server says every control holds.
export function follow(held) {
  for (const [field, value] of Object.entries(held)) show(field, value, null);
}

export function trouble(field, words) {
  clearTrouble();
  const home = field ? [...fields(field)].find((one) => one.querySelector("input, select")) : null;
  if (!home) return null;
  const input = home.querySelector("input:not([type=range]), select");
  const note = document.createElement("p");
  note.className = "trouble at-field";
  note.id = `${input.id}-wrong`;
  note.setAttribute("role", "alert");
  note.textContent = words;
  home.append(note);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-errormessage", note.id);
  for (let around = home.parentElement; around; around = around.parentElement) {
    if (around.tagName === "DETAILS") around.open = true;
  }
  return note;
}

export function clearTrouble() {
  for (const note of document.querySelectorAll(".at-field")) note.remove();
  for (const input of document.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-errormessage");
  }
}

// Among whole numbers many places hold the same one: a key goes on to the next.
function stepped(slider) {
  let place = Number(slider.value);
  const before = Number(slider.dataset.before ?? place), step = place - before;
  if (slider.dataset.scale === "whole" && Math.abs(step) === 1) {
    while (place > 0 && place < STEPS && valueAt(slider, place) === valueAt(slider, before)) place += step;
    slider.value = place;
  }
  slider.dataset.before = place;
  return valueAt(slider, place);
}

export function bind(home, change, take, wrong) {
  home.addEventListener("submit", (event) => event.preventDefault());
  for (const slider of home.querySelectorAll("input[type=range]")) slider.dataset.before = slider.value;
  home.addEventListener("focusin", ({ target }) => {
    if (target.type === "range") target.dataset.before = target.value;
  });
  home.addEventListener("input", ({ target }) => {
    const field = target.closest("[data-field]")?.dataset.field;
    if (!field) return;
    if (target.type === "range") {
      const value = stepped(target);
      show(field, value, target);
      target.setAttribute("aria-valuetext", written(value));
      change(field, value);
    } else if ("exact" in target.dataset) {
      const whole = target.closest("[data-field]").querySelector("input[type=range]")?.dataset.scale === "whole";
      const value = typed(target.value, whole);
      if (value === null) return wrong(field, unread(target.value));
      show(field, value, target);
      change(field, value);
    }
  });
  home.addEventListener("change", ({ target }) => {
    const field = target.closest("[data-field]")?.dataset.field;
    if (!field || target.type === "range" || "exact" in target.dataset) return;
    if (target.type === "file") return take(target.files[0], target);
    if (target.tagName === "TEXTAREA") {
      if (target.value.trim()) take(new File([target.value], "pasted.toml"), home.querySelector(`[data-field="${field}"] input[type=file]`));
      return;
    }
    if (target.type === "checkbox") return change(field, target.checked);
    // A list or a text must be named: dials below it still show what was chosen before.
    change(field, target.value, true);
  });
  home.addEventListener("paste", ({ target }) => {
    if (target.tagName === "TEXTAREA") setTimeout(() => target.blur(), 0); // left, it is read
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    home.addEventListener(kind, (event) => {
      const box = event.target.closest?.(".file");
      if (!box) return;
      event.preventDefault();
      box.classList.toggle("over", kind === "dragover");
      if (kind === "drop") take(event.dataTransfer.files[0], box.querySelector("input[type=file]"));
    });
  }
}
