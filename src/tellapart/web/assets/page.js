// The page: native controls made from data, questions one at a time, a URL for every view.
(function () {
  "use strict";
  const PATIENCE = 3000; // after so many ms without an answer the next question takes its place
  const WINDOW = `${Date.now()}-${Math.random()}`; // whose questions these are
  const REST = 120; // ms without a change, after which the URL is set
  const page = { address: null, keeping: null, view: "/", values: {}, shape: null, number: 0, busy: null, waiting: null, told: null, made: [], file: null, once: null, later: {} };
  const find = (id) => document.getElementById(id);
  const set = (id, props) => window.dash_clientside.set_props(id, props);

  function element(name, properties, ...children) {
    const node = document.createElement(name);
    for (const key in properties || {}) {
      if (key in node && key !== "list") node[key] = properties[key];
      else node.setAttribute(key, properties[key]);
    }
    node.append(...children);
    return node;
  }

  // ---- asking: one question at a time; what changes meanwhile is asked together afterwards

  // Whoever watches can tell whether all that was asked is shown.
  function next() {
    page.number += 1;
    page.busy = setTimeout(free, PATIENCE);
    document.documentElement.dataset.asked = page.number;
  }

  // What most controls say goes along whatever is said to have changed; a list or a text must be
  // named, since dials below it still show what was chosen before.
  function ask(changed, named) {
    if (page.busy) {
      if (page.waiting === null || named) page.waiting = changed;
      return;
    }
    page.waiting = null;
    page.later = {};
    next();
    set("asked", { data: { view: page.view, values: { ...page.values }, changed, number: page.number, file: file(), window: WINDOW } });
    page.once = null;
  }

  function free() {
    clearTimeout(page.busy);
    page.busy = null;
    if (page.waiting !== null) ask(page.waiting);
  }

  function go(path, query) {
    page.view = path;
    page.shape = null;
    page.waiting = null;
    page.later = {};
    page.address = null;
    page.once = null;
    find("picture").style.minHeight = "";
    clearTimeout(page.busy);
    next();
    return { view: path, query, number: page.number, file: file(), window: WINDOW };
  }

  function change(field, value, named) {
    page.values[field] = page.later[field] = value;
    ask(field, named);
  }

  // A file stays in this window, and goes along only where a view reads it; one that sets the page
  // goes along once.
  function file() {
    if (page.once) return page.once;
    const link = [...document.querySelectorAll("nav a[data-view]")].find((one) => one.dataset.view === page.view);
    return link && link.dataset.file === "yes" ? page.file : null;
  }

  // ---- trouble: questions that the server did not take, or never heard

  const REFUSED = {
    400: "The server refused this: it does not understand the question. Reload the page.",
    403: "The server refused this: it answers this page alone.",
    413: "The server refused this: the file is too large for it. Use the command line.",
    421: "The server refused this: it answers at its own address alone.",
    500: "The server could not answer this.",
  };
  const ask_server = window.fetch.bind(window);
  window.fetch = function (resource, options) {
    const asking = String(resource.url || resource).includes("_dash-update-component");
    const asked = ask_server(resource, options);
    if (asking) {
      const failed = String(options && options.body).includes("unreported.data") ? unreported : trouble;
      const slow = setTimeout(() => { find("working").textContent = "Working…"; }, 700);
      const done = () => { clearTimeout(slow); find("working").textContent = ""; };
      asked.then(done, done);
      asked.then(
        (response) => { if (!response.ok) failed(REFUSED[response.status] || `The server refused this (${response.status}).`); },
        () => failed(`The server does not answer. If it was stopped, start it again: tellapart explore --port ${location.port}.`),
      );
    }
    return asked;
  };

  function trouble(words) {
    find("trouble").textContent = words ? `${words} What is shown is from before.` : "";
    if (words) free();
  }

  // Beside the button that asked for it.
  function unreported(words) {
    find("no-report").textContent = words || "";
    return window.dash_clientside.no_update;
  }

  // ---- controls

  const STEPS = 1000;
  function position(dial, value) {
    if (dial.scale === "linear") return Math.round(STEPS * (value - dial.low) / (dial.high - dial.low));
    const share = Math.log(Math.max(value, dial.low) / dial.low) / Math.log(dial.high / dial.low);
    return Math.round(STEPS * Math.min(1, share));
  }
  function valueAt(dial, place) {
    const share = place / STEPS;
    let value = dial.scale === "linear" ? dial.low + share * (dial.high - dial.low) : dial.low * Math.pow(dial.high / dial.low, share);
    if (dial.scale === "whole") return Math.max(dial.low, Math.round(Number(value.toPrecision(2))));
    return Number(value.toPrecision(3));
  }
  function shown(value) {
    const size = Math.abs(value);
    return size !== 0 && size < 1e-4 ? value.toExponential() : String(value);
  }
  function ends(dial) {
    if (dial.ends) return dial.ends;
    if (dial.private === "larger") return ["less private", "more private"];
    if (dial.private === "smaller") return ["more private", "less private"];
    return null;
  }

  const makers = {
    dial(one, id) {
      const exact = element("input", { type: "number", id, step: "any", value: shown(one.value), inputMode: "decimal" });
      const slider = element("input", { type: "range", min: 0, max: STEPS, step: 1, value: position(one, one.value), id: id + "-slider" });
      slider.setAttribute("aria-labelledby", id + "-label");
      const say = (value) => slider.setAttribute("aria-valuetext", shown(value));
      say(one.value);
      let before = Number(slider.value);
      slider.addEventListener("input", () => {
        let place = Number(slider.value);
        const step = place - before;
        // Among whole numbers many places hold the same one: a key goes on to the next.
        if (one.scale === "whole" && Math.abs(step) === 1) {
          while (place > 0 && place < STEPS && valueAt(one, place) === valueAt(one, before)) place += step;
          slider.value = place;
        }
        before = place;
        const value = valueAt(one, place);
        exact.value = shown(value);
        say(value);
        change(one.field, value);
      });
      exact.addEventListener("input", () => {
        if (exact.value === "" || !exact.validity.valid) return;
        before = Number(slider.value = position(one, Number(exact.value)));
        say(Number(exact.value));
        change(one.field, Number(exact.value));
      });
      const label = element("label", { htmlFor: id, id: id + "-label" }, one.label);
      const both = ends(one);
      const node = element("div", { className: "control dial" }, label, exact, slider);
      if (both) {
        slider.setAttribute("aria-describedby", id + "-ends");
        node.append(element("div", { className: "ends", id: id + "-ends" },
          element("span", {}, "← " + both[0]), element("span", {}, both[1] + " →")));
      }
      node.follow = (next) => {
        if (document.activeElement !== exact) exact.value = shown(next.value);
        if (document.activeElement !== slider) before = Number(slider.value = position(one, next.value));
        say(next.value);
      };
      return node;
    },
    choice(one, id) {
      if (one.as_buttons) {
        const options = one.options.map(([value, words], k) => {
          const input = element("input", { type: "radio", name: id, value, checked: value === one.value, id: `${id}-${k}` });
          input.addEventListener("change", () => change(one.field, value));
          return element("label", { htmlFor: `${id}-${k}` }, input, element("span", {}, words));
        });
        const node = element("fieldset", { className: "control buttons" }, element("legend", {}, one.label), ...options);
        node.follow = (next) => {
          for (const input of node.querySelectorAll("input")) input.checked = input.value === next.value;
        };
        return node;
      }
      const list = element("select", { id }, ...one.options.map(([value, words]) => element("option", { value }, words)));
      list.value = one.value;
      list.addEventListener("change", () => change(one.field, list.value, true));
      const node = element("div", { className: "control" }, element("label", { htmlFor: id }, one.label), list);
      node.follow = (next) => { list.value = next.value; };
      return node;
    },
    line(one, id) {
      const input = element("input", { type: "text", id, value: one.value, spellcheck: false, autocomplete: "off" });
      input.addEventListener("change", () => change(one.field, input.value, true));
      const node = element("div", { className: "control line" }, element("label", { htmlFor: id }, one.label), input);
      node.follow = (next) => { if (document.activeElement !== input) input.value = next.value; };
      return node;
    },
    tick(one, id) {
      const input = element("input", { type: "checkbox", id, checked: one.value });
      input.addEventListener("change", () => change(one.field, input.checked));
      const node = element("div", { className: "control tick" }, input, element("label", { htmlFor: id }, one.label));
      node.follow = (next) => { input.checked = next.value; };
      return node;
    },
    file(one, id) {
      const input = element("input", { type: "file", id, accept: one.accept });
      const said = element("p", { className: "said", role: "status" });
      const tellFile = () => {
        if (one.once) return;
        said.textContent = page.file ? `${page.file.name}, ${page.file.size.toLocaleString("en")} bytes` : "";
      };
      tellFile();
      const take = (file) => {
        if (!file) return;
        if (file.size > one.largest) {
          const still = page.file && !one.once ? ` What is shown is still of ${page.file.name}.` : "";
          said.textContent = `${file.name} has ${file.size.toLocaleString("en")} bytes, more than the ${one.largest.toLocaleString("en")} this page takes: use the command line.${still}`;
          return;
        }
        const reader = new FileReader();
        reader.addEventListener("load", () => {
          const held = { name: file.name, size: file.size, content: reader.result };
          if (one.once) {
            page.once = held;
            said.textContent = file.name;
            input.value = ""; // so that the same file, changed, can be picked again
            ask(one.field, true);
            return;
          }
          page.file = held;
          if (one.instead_of) page.values[one.instead_of] = false;
          tellFile();
          ask(one.field);
        });
        reader.addEventListener("error", () => { said.textContent = `${file.name} cannot be read.`; });
        reader.readAsDataURL(file);
      };
      input.addEventListener("change", () => take(input.files[0]));
      const node = element("div", { className: "control file" }, element("label", { htmlFor: id }, one.label), input, said);
      node.addEventListener("dragover", (event) => { event.preventDefault(); node.classList.add("over"); });
      node.addEventListener("dragleave", () => node.classList.remove("over"));
      node.addEventListener("drop", (event) => {
        event.preventDefault();
        node.classList.remove("over");
        take(event.dataTransfer.files[0]);
      });
      if (one.paste) {
        const box = element("textarea", { id: id + "-paste", rows: 3, spellcheck: false, autocomplete: "off" });
        const read = () => { if (box.value.trim()) take(new File([box.value], "pasted text")); };
        box.addEventListener("change", read);
        box.addEventListener("paste", () => setTimeout(() => box.blur(), 0)); // left, it is read
        node.append(element("label", { htmlFor: id + "-paste" }, one.paste), box);
      }
      node.follow = () => {};
      return node;
    },
    kept() {
      const node = element("div", { hidden: true });
      node.follow = () => {};
      return node;
    },
    group(one, id) {
      const inside = one.controls.map((each, k) => control(each, `${id}-${k}`));
      const node = one.folded
        ? element("details", { className: "group" }, element("summary", {}, one.title), ...inside)
        : element("fieldset", { className: "group" }, element("legend", {}, one.title), ...inside);
      if (one.folded) node.open = one.controls.some((each) => each.kind === "dial" && each.value !== 1);
      node.follow = (next) => inside.forEach((each, k) => each.follow(next.controls[k]));
      return node;
    },
  };

  function control(one, id) {
    const node = makers[one.kind](one, id);
    if (one.field) {
      node.dataset.field = one.field;
      if (one.kind !== "file") page.values[one.field] = one.value;
    }
    if (one.help) {
      const help = element("p", { className: "quiet", id: id + "-help" }, one.help);
      node.append(help);
      for (const input of node.querySelectorAll("input, select, textarea")) {
        const before = input.getAttribute("aria-describedby");
        input.setAttribute("aria-describedby", (before ? before + " " : "") + id + "-help");
      }
    }
    return node;
  }

  function remember(controls) {
    for (const one of controls) {
      if (one.kind === "group") remember(one.controls);
      else if (one.kind !== "file") page.values[one.field] = one.value;
    }
  }

  // Controls that are made anew keep what was set on those before while the answer was on its way.
  function meanwhile(one) {
    if (one.kind === "group") return { ...one, controls: one.controls.map(meanwhile) };
    return page.waiting !== null && one.field in page.later ? { ...one, value: page.later[one.field] } : one;
  }

  function controls(told) {
    const home = find("controls");
    if (told.shape !== page.shape) {
      const kept = document.activeElement && document.activeElement.id;
      const open = [...home.querySelectorAll("details")].map((one) => one.open);
      page.values = {};
      page.made = told.controls.map((one, k) => control(meanwhile(one), `c${k}`));
      const above = (node) => node.classList.contains("buttons");
      home.replaceChildren(...page.made.filter((one) => !above(one)));
      find("switches").replaceChildren(...page.made.filter(above));
      [...home.querySelectorAll("details")].forEach((one, k) => { one.open = one.open || Boolean(open[k]); });
      page.shape = told.shape;
      if (kept && find(kept)) find(kept).focus();
    } else if (page.waiting === null) {
      remember(told.controls);
      told.controls.forEach((one, k) => page.made[k].follow(one));
    }
  }

  // ---- showing

  function picture() {
    if (page.told) {
      window.tellapartChart.draw(find("picture"), page.told.drawing, (first, x, second, y) => {
        page.values[first] = page.later[first] = Number(x.toPrecision(4));
        page.values[second] = page.later[second] = Number(y.toPrecision(4));
        ask(second);
      });
    }
  }

  // The URL follows once the hand rests: browsers allow few changes of it in a second.
  function keep() {
    clearTimeout(page.keeping);
    if (page.address !== null) history.replaceState(null, "", page.address);
    page.address = null;
    document.documentElement.dataset.kept = document.documentElement.dataset.shown;
  }

  function show(told) {
    if (told.view === page.view && told.number === page.number) {
      page.told = told;
      find("lead").textContent = told.lead;
      trouble("");
      unreported("");
      if (told.controls) controls(told);
      picture();
      for (const link of document.querySelectorAll("nav a")) {
        if (link.dataset.view === page.view) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      document.documentElement.dataset.shown = told.number;
      if (told.query !== null) page.address = told.view + (told.query ? "?" + told.query : "");
      clearTimeout(page.keeping);
      page.keeping = setTimeout(keep, REST);
      free();
    }
    return window.dash_clientside.no_update;
  }

  function start() {
    return go(location.pathname, location.search);
  }

  // ---- the rest of the page

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-view]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
      keep();
      history.pushState(null, "", link.dataset.view);
      set("asked", { data: go(link.dataset.view, "") });
      find("question").focus();
      return;
    }
    const copier = event.target.closest("button[data-copies]");
    if (copier) {
      const label = copier.textContent;
      navigator.clipboard.writeText(copier.dataset.copies).then(
        () => { copier.textContent = "Copied"; },
        () => { copier.textContent = "Select and copy it below"; },
      ).then(() => setTimeout(() => { copier.textContent = label; }, 1500));
    }
    const saver = event.target.closest("button[data-saves]");
    if (saver) {
      const address = URL.createObjectURL(new Blob([saver.dataset.saves], { type: "application/toml" }));
      element("a", { href: address, download: saver.dataset.name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    }
    if (event.target.closest("#report-button")) set("wanted", { data: Date.now() });
  });
  window.addEventListener("pagehide", keep);
  window.addEventListener("popstate", () => set("asked", { data: go(location.pathname, location.search) }));
  let resized = null;
  window.addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => {
      find("picture").style.minHeight = "";
      picture();
    }, 60);
  });

  window.dash_clientside = Object.assign({}, window.dash_clientside, { tellapart: { start, show, unreported } });
})();
