// Keeps the page as the stack says it is. The server renders; this replaces what changed, sends what a
// person types, and says so when the stack is gone.
"use strict";

const $ = (id) => document.getElementById(id);
const chatIsSimulated = Boolean($("say"));

// --- Replacing only what changed -------------------------------------------------------------------------

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** Makes the children of `target` those of `html`: equal ones stay, so that focus and scrolling survive. */
function replaceChildren(target, html) {
  const old = new Map();
  for (const child of target.children) old.set(child.dataset.key, child);
  let place = target.firstElementChild;
  for (const next of [...parse(html).children]) {
    const same = old.get(next.dataset.key);
    old.delete(next.dataset.key);
    const source = next.outerHTML;
    let node = same;
    if (!same || same.source !== source) {
      node = next;
      node.source = source;
      localTimes(node);
      if (same) {
        carryOver(same, node);
        if (same === place) place = place.nextElementSibling;
        const focused = same.contains(document.activeElement);
        same.replaceWith(node);
        if (focused) (node.querySelector("summary") || node).focus({ preventScroll: true });
      }
    }
    if (node === place) place = place.nextElementSibling;
    else if (node.nextElementSibling !== place || node.parentNode !== target) target.insertBefore(node, place);
  }
  for (const gone of old.values()) gone.remove();
}

/** What the person did to the old node stays: an open row is open, and what passed since is shown. */
function carryOver(before, after) {
  if (before.open) after.open = true;
  for (const stop of after.querySelectorAll("[data-passed]")) {
    const was = before.querySelector(`[data-key="${stop.dataset.key}"]`);
    if (was && Number(stop.dataset.passed) > Number(was.dataset.passed)) stop.classList.add("pulse");
  }
}

function clock(date, seconds) {
  const two = (n) => String(n).padStart(2, "0");
  const short = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return seconds ? `${short}:${two(date.getSeconds())}` : short;
}

/** Times come in UTC; they are shown as the clock on the wall has them. */
function localTimes(node) {
  for (const time of node.querySelectorAll("time[data-ms]")) {
    const date = new Date(Number(time.dataset.ms));
    const millis = `.${String(date.getMilliseconds()).padStart(3, "0")}`;
    time.textContent = "short" in time.dataset ? clock(date, false) : clock(date, true) + millis;
  }
}

/** Runs `change` and keeps the list at its end, if it was there. */
function stickToEnd(list, change) {
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  change();
  if (atEnd) list.scrollTop = list.scrollHeight;
}

// --- Notes at the bottom of the page -------------------------------------------------------------------------

function toast(text, stays) {
  const note = document.createElement("div");
  note.className = "toast";
  const span = document.createElement("span");
  span.textContent = text;
  note.append(span);
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "OK";
  close.onclick = () => note.remove();
  note.append(close);
  $("toasts").append(note);
  if (!stays) setTimeout(() => note.remove(), 6000);
}

// --- The chat ----------------------------------------------------------------------------------------------

const MAX_MESSAGES = 300;
let typingTimer;

const room = () => Number($("room").value);

async function post(path, body) {
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.ok) return true;
    const answer = await response.json().catch(() => ({}));
    toast(answer.error || `The stack answered ${response.status}.`);
  } catch {
    toast("Not sent: the stack does not answer. Your text is still here.");
  }
  return false;
}

function who() {
  return { chat: room(), user: Number($("speaker").value) };
}

async function say(text) {
  if (text.trim() === "") return;
  if (await post("/chat/send", { text, ...who() })) {
    if ($("text").value === text) $("text").value = "";
    fitText();
  }
}

function fitText() {
  const text = $("text");
  text.rows = Math.min(6, text.value.split("\n").length);
}

function bubble(id) {
  return $("messages").querySelector(`[data-id="${id}"]`);
}

function showTyping(text) {
  clearTimeout(typingTimer);
  $("typing").textContent = text;
  // Telegram shows an action for five seconds.
  if (text) typingTimer = setTimeout(() => showTyping(""), 5000);
}

function addRoom(id, label) {
  if ([...$("room").options].some((option) => Number(option.value) === id)) return;
  $("room").add(new Option(label, id));
}

function unread(id) {
  const option = [...$("room").options].find((one) => Number(one.value) === id);
  if (option && !option.text.startsWith("• ")) option.text = `• ${option.text}`;
}

/** Reads the chosen chat anew. */
async function loadChat() {
  const id = room();
  $("speaker-part").hidden = id > 0;
  $("messages").classList.toggle("private", id > 0);
  const option = $("room").selectedOptions[0];
  option.text = option.text.replace("• ", "");
  const response = await fetch(`/chat?chat=${id}`).catch(() => null);
  if (!response?.ok || id !== room()) return;
  const chat = await response.json();
  for (const one of chat.chats) addRoom(one.id, one.label);
  const list = $("messages");
  list.replaceChildren(parse(chat.html));
  localTimes(list);
  list.scrollTop = list.scrollHeight;
  showTyping("");
}

function onChat(event) {
  if (event.kind === "resync") return loadChat();
  if (event.kind === "answer") {
    for (const button of document.querySelectorAll(".pressed")) button.classList.remove("pressed");
    if (event.text) toast(event.text, event.alert);
    return;
  }
  if (event.chat !== room()) {
    if (event.kind === "message") {
      addRoom(event.chat, `${event.title || "Chat"} (chat ${event.chat})`);
      unread(event.chat);
    }
    return;
  }
  const list = $("messages");
  const old = event.message_id && bubble(event.message_id);
  stickToEnd(list, () => {
    if (event.kind === "message" || event.kind === "edit") {
      const next = parse(event.html).firstElementChild;
      localTimes(next);
      if (old) old.replaceWith(next);
      else {
        next.classList.add("fresh");
        list.append(next);
      }
      while (list.children.length > MAX_MESSAGES) list.firstElementChild.remove();
      if (event.from_bot || event.kind === "edit") showTyping("");
    } else if (event.kind === "delete") {
      old?.remove();
    } else if (event.kind === "reaction" && old) {
      let mark = old.querySelector(".reaction");
      if (!mark) {
        mark = document.createElement("span");
        mark.className = "reaction";
        old.querySelector(".meta").prepend(mark);
      }
      mark.textContent = event.emoji;
    } else if (event.kind === "action") {
      const words = { typing: "The bot is typing…", draft: `The bot is writing: ${event.text || "…"}` };
      showTyping(words[event.action] || `The bot: ${event.action.replaceAll("_", " ")}…`);
    }
  });
}

if (chatIsSimulated) {
  $("say").addEventListener("submit", (event) => {
    event.preventDefault();
    say($("text").value);
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      say($("text").value);
    }
  });
  $("text").addEventListener("input", fitText);
  $("room").addEventListener("change", loadChat);
  document.addEventListener("click", async (event) => {
    const said = event.target.closest("[data-say]");
    if (said) {
      await say(said.dataset.say);
      $("text").focus();
      return;
    }
    const button = event.target.closest("[data-press]");
    if (!button) return;
    button.classList.add("pressed");
    setTimeout(() => button.classList.remove("pressed"), 10000);
    const message_id = Number(button.closest("[data-id]").dataset.id);
    if (!(await post("/chat/press", { message_id, data: button.dataset.press, ...who() }))) {
      button.classList.remove("pressed");
    }
  });
}

// --- The connection to the stack -------------------------------------------------------------------------------

// The server gives a sign of life every five seconds.
const SILENCE_MS = 12000;
const AGAIN_MS = 1500;
const MAX_LINES = 400;
// What a person has chosen or written: it outlives a page that loads itself anew.
const KEPT = ["text", "room", "speaker"];
let heardAt = Date.now();
let lost = false;
let events;

function heard() {
  heardAt = Date.now();
  if (!lost) return;
  lost = false;
  $("lost").hidden = true;
  document.body.classList.remove("is-lost");
  $("link").textContent = "live";
  $("link").className = "chip live";
}

function lose() {
  if (lost) return;
  lost = true;
  $("lost-since").textContent = clock(new Date(heardAt), true);
  $("lost").hidden = false;
  document.body.classList.add("is-lost");
  $("link").textContent = "connection lost";
  $("link").className = "chip gone";
}

function on(name, act) {
  events.addEventListener(name, (event) => {
    heard();
    act(JSON.parse(event.data));
  });
}

function connect() {
  events = new EventSource("/events");
  events.onopen = () => {
    heard();
    if (chatIsSimulated) loadChat();
  };
  events.onerror = () => {
    lose();
    // The browser does not try again by itself in every case.
    events.close();
    setTimeout(connect, AGAIN_MS);
  };
  on("ping", () => {});
  on("hello", ({ start }) => {
    // Another start of the stack may have another page; a half-written text is kept, and its place.
    if (start === document.body.dataset.start) return;
    if (chatIsSimulated) for (const id of KEPT) sessionStorage.setItem(id, $(id).value);
    location.reload();
  });
  on("snapshot", (parts) => {
    if (parts.totals) replaceChildren($("totals"), parts.totals);
    if (parts.flow) replaceChildren($("flow"), parts.flow);
    if (parts.updates) replaceChildren($("update-rows"), parts.updates);
  });
  on("log", ({ html, all }) => {
    const list = $("log-lines");
    stickToEnd(list, () => {
      const lines = parse(html);
      localTimes(lines);
      if (all) list.replaceChildren(lines);
      else list.append(lines);
      while (list.children.length > MAX_LINES) list.firstElementChild.remove();
    });
    if (all) list.scrollTop = list.scrollHeight;
  });
  on("chat", (event) => {
    if (chatIsSimulated) onChat(event);
  });
}

setInterval(() => {
  if (Date.now() - heardAt > SILENCE_MS) lose();
}, 1000);

localTimes(document.body);
if (chatIsSimulated) {
  for (const id of KEPT) {
    const kept = sessionStorage.getItem(id);
    sessionStorage.removeItem(id);
    // A chat that this start does not have yet cannot be chosen.
    const isThere = id === "text" || [...$(id).options].some((option) => option.value === kept);
    if (kept !== null && isThere) $(id).value = kept;
  }
  $("messages").classList.toggle("private", room() > 0);
  $("messages").scrollTop = $("messages").scrollHeight;
}
connect();
