// SPDX-License-Identifier: Apache-2.0
//
// The page of statusd-web. One stream of events changes a model of the servers, and one frame draws what changed.

// ---- Words: all that people read, except the noscript text

const words = {
	skip: "Skip to the servers",
	levels: "Show only these levels",
	filter: "Filter servers",
	range: "Length of the history",
	ranges: {day: "Last 24 hours", quarter: "Last 90 days"},
	selected: "Selected server",
	servers: "Servers",
	legend: "What the cells mean",

	ok: "ok",
	warning: "warning",
	unknown: "unknown",
	critical: "critical",
	none: "no status",
	failed: "failed",
	stale: "stale",
	loading: "loading",
	allOk: "all ok",

	live: "live",
	connecting: "connecting",
	disconnected: "disconnected",
	banner: time => `Disconnected since ${time}. What you see is how it was then.`,
	connectedAgain: "Connected again.",
	gap: count => `${count ?? "Some"} events were missed. What you see is current.`,

	attention: "Needs attention",
	otherServers: "Other servers",
	otherHosts: "Other hosts",
	members: (count, worst) => `${count} servers${worst ? `, worst ${worst}` : ""}`,
	allServers: "All servers",
	nothingFound: "No server matches the filter.",
	noServers: "There are no servers yet.",
	found: (count, all) => `${count} of ${all} servers`,
	isSelected: "selected",
	silenced: time => (time ? `silenced until ${time}` : "silenced until ok"),
	behind: parent => `behind ${parent}`,
	restored: "from before the restart",
	switched: (name, word, text) => `Selected: ${name}, ${word}, ${text}`,
	became: (name, word, text) => `${name} is ${word}: ${text}`,

	now: "now",
	to: "to",
	since: "since",
	cell: (period, levels, changes) => `${period}: ${levels}${changes ? `; ${words.changes(changes)}` : ""}`,
	changes: count => (count === 1 ? "1 change" : `${count} changes`),
	strip: (name, range, share) => `${range} of ${name}${share ? `: ${share} available so far` : ""}`,

	facts: {
		description: "Description", source: "Source", group: "Group", silence: "Silence", changed: "Changed",
		updated: "Updated", checked: "Last check", next: "Next check",
	},
	values: "Values",
	limit: (word, value) => `${word} at ${value}`,
	output: "Output of the plugin",
	noServer: "There is no such server.",

	history: "Changes",
	earlier: "‹ Earlier",
	later: "Later ›",
	allChanges: "All changes",
	soFar: "so far",
	noChanges: "Nothing is recorded for this time.",
	noHistory: "No server or history.",
	kinds: {
		selected: "selected", silenced: "silenced", unsilenced: "silence ended", added: "added", removed: "removed",
		started: "statusd started", stopped: "statusd stopped",
	},

	alerts: "Alerts",
	alertFailed: (count, problem) => `${count === 1 ? "failed" : `failed ${count} times`}: ${problem}`,
	alertDelivered: time => (time ? `last delivery ${time}` : "nothing sent since statusd started"),
	alertUntold: servers => `not sent yet: ${servers}`,

	refresh: "Refresh",
	refreshAll: "Refresh all",
	refreshing: "Refreshing",
	notRefreshable: "Its status is posted, so there is nothing to refresh.",
	pull: "Pull to refresh",
	release: "Release to refresh",
	select: "Select",
	silence: "Silence for 1 h",
	unsilence: "End silence",
	done: "Done.",
	notDone: "That failed.",

	title: (what, host) => `${what} – statusd ${host}`,
	units: {second: "s", minute: "min", hour: "h", day: "d"},
	bytes: ["B", "kB", "MB", "GB", "TB", "PB"],
};

// ---- Tools

const root = document.documentElement;
const base = new URL("./", location.href);
const query = new URLSearchParams(location.search);
const byId = id => document.getElementById(id);
const all = selector => [...document.querySelectorAll(selector)];
const focused = () => document.activeElement;

/** The names of servers that are also paths of statusd-web. */
const paths = /^(events|api|metrics|badge|health|page\.(css|js)|icon-\w+\.svg)$/;

/** The address of a server's view; it begins with "./", because a name such as "db:1" alone would be a scheme. */
function addressOf(name) {
	if (!name) return "./";
	return paths.test(name) ? `./?server=${encodeURIComponent(name)}` : `./${encodeURIComponent(name)}`;
}

/** Makes an element: make("p.note", {title: "…"}, child, …). Missing children are left out. */
function make(spec, ...children) {
	const [tag, ...classes] = spec.split(".");
	const node = document.createElement(tag);
	if (classes.length) node.className = classes.join(" ");
	if (children[0]?.constructor === Object) Object.assign(node, children.shift());
	node.append(...children.filter(child => child));
	return node;
}

const makeList = facts => make("dl", ...facts.flatMap(([key, text]) => [make("dt", key), make("dd", text)]));

function makeButton(label, action) {
	const node = make("button.button", label);
	node.onclick = action;
	return node;
}

/** Makes a link that opens a server's view, or the list, without loading the page again. */
function makeLink(name, label, spec = "a") {
	const link = make(spec, {href: addressOf(name)}, label);
	link.dataset.opens = name;
	return link;
}

/** A level's shape; the class of its parent says which. */
const makeShape = () => make("span.shape");

/** Writes only what differs, because each write makes the browser lay out again. */
function update(node, properties) {
	for (const key in properties) if (node[key] !== properties[key]) node[key] = properties[key];
}

const setText = (node, text) => update(node, {textContent: text});

/** Fetches lines of JSON; throws if the answer is an error. */
async function fetchLines(url, options) {
	const answer = await fetch(url, options);
	if (!answer.ok) throw new Error(`${answer.status}`);
	const lines = (await answer.text()).split("\n").filter(Boolean);
	return lines.map(line => JSON.parse(line));
}

/** Tells a screen reader. The region stays and its text changes: a new region would not be announced. */
function say(text) {
	clearTimeout(say.timer);
	say.timer = setTimeout(() => setText(byId("said"), text), 150);
}

// ---- Time: ages count by the host's clock, and stand still while the page is cut off

const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
let clockOffset = 0; // the host's clock minus this one's
let cutSince = null; // since when nothing is known

const now = () => cutSince ?? Date.now() + clockOffset;

/** Follows the host's clock, except for the delays of the network. */
function setClock(time) {
	const offset = Date.parse(time) - Date.now();
	if (Math.abs(offset - clockOffset) > second) clockOffset = offset;
}

const formatter = options => new Intl.DateTimeFormat("en-GB", options);
const clockFormat = formatter({hour: "2-digit", minute: "2-digit"});
const secondsFormat = formatter({hour: "2-digit", minute: "2-digit", second: "2-digit"});
const dateFormat = formatter({day: "numeric", month: "short"});
const dayFormat = formatter({weekday: "short", day: "numeric", month: "short"});

const iso = time => new Date(time).toISOString();
const dateAndClock = time => `${dateFormat.format(time)} ${clockFormat.format(time)}`;
const isToday = time => dateFormat.format(time) === dateFormat.format(now());
const timeText = time => (isToday(time) ? secondsFormat.format(time) : dateAndClock(time));

function durationText(milliseconds) {
	const count = length => Math.max(0, Math.floor(milliseconds / length));
	const {units} = words;
	if (milliseconds < minute) return `${count(second)} ${units.second}`;
	if (milliseconds < hour) return `${count(minute)} ${units.minute}`;
	if (milliseconds < 10 * hour) return `${count(hour)} ${units.hour} ${count(minute) % 60} ${units.minute}`;
	if (milliseconds < day) return `${count(hour)} ${units.hour}`;
	const days = `${count(day)} ${units.day}`;
	return milliseconds < 10 * day ? `${days} ${count(hour) % 24} ${units.hour}` : days;
}

const ageText = time => durationText(now() - time);

// ---- Levels

const levels = ["critical", "unknown", "warning", "ok", "none"]; // worst first
const troubles = ["critical", "unknown", "warning"];
const rank = level => levels.indexOf(level);

/** The level that counts, as `countedLevel` of statusd has it. */
function levelOf({phase, stale, status}) {
	if (!status) return phase === "failed" || stale ? "unknown" : "none";
	return (phase === "loaded" && !stale) || status.level === "critical" ? status.level : "unknown";
}

/** The word for a server's level, as statusctl has it. */
function wordOf({phase, stale, status}) {
	if (phase === "failed" || phase === "loading") return words[phase];
	return stale ? words.stale : words[status?.level ?? "none"];
}

function textOf({phase, status, message}) {
	const isAbout = phase === "failed" || phase === "empty";
	return (isAbout && message) || (status?.text ?? message ?? "");
}

const levelSince = ({status}) => Date.parse(status?.levelChangedAt);

function tagsOf(server) {
	const {name, silence, parent, restored} = server;
	const tags = [];
	if (name === selected) tags.push(words.isSelected);
	if (silence) tags.push(silenceText(silence));
	if (parent && troubles.includes(levelOf(server))) tags.push(words.behind(parent));
	if (restored) tags.push(words.restored);
	return tags;
}

const silenceText = ({until}) => words.silenced(until && timeText(Date.parse(until)));

/** Draws what each view of a server has: {node, word, text, tags}. */
function drawParts(parts, server, name) {
	const level = levelOf(server), text = textOf(server);
	const isBusy = server.refreshing || server.phase === "loading";
	update(parts.node, {className: `${name} ${level}`, ariaBusy: isBusy ? "true" : null});
	setText(parts.word, wordOf(server));
	update(parts.text, {textContent: text, title: text});
	parts.tags.replaceChildren(...tagsOf(server).map(tag => make("span.tag", tag)));
}

function sinceText(server) {
	const since = levelSince(server);
	return since ? `${words.since} ${timeText(since)} · ${ageText(since)}` : "";
}

// ---- Model: the servers as the daemon last sent them

const servers = new Map(); // by name
let selected = null; // the server's name
let site = {host: "", actions: false};
let hasServers = false; // whether a snapshot was received
let hub = null; // the numbers of all servers, if the page has not all

function apply(event) {
	if (event.web) site = event.web;
	if (event.kind === "snapshot") takeSnapshot(event.servers);
	else if (event.kind === "selected") select(event.server);
	else if (event.kind === "removed") remove(event.server.name);
	else if (event.kind === "gap") say(words.gap(event.missed));
	else if (event.kind === "counts") count(event);
	else if (event.server) take(event.server, event.kind);
	for (const name of event.hidden ?? []) remove(name);
}

function count(event) {
	hub = {...event, time: null};
	if (event.hosts.includes(detail?.name.split("@").at(-1))) touchDetail();
	redraw();
}

function takeSnapshot(list) {
	hasServers = true;
	hub = null;
	list.sort((one, other) => rank(levelOf(one)) - rank(levelOf(other))); // the first frame shows the worst
	const names = new Set(list.map(server => server.name));
	for (const name of servers.keys()) if (!names.has(name)) remove(name);
	for (const server of list) take(server, "snapshot");
	summaries.clear(); // they lack what was missed
	wantVisible();
	touchDetail();
	select(list.find(server => server.selected));
}

function take(server, kind) {
	const old = servers.get(server.name);
	servers.set(server.name, server);
	if (kind === "changed") {
		countChange(server);
		const isBad = rank(levelOf(server)) < 2 && old && levelOf(old) !== levelOf(server);
		if (isBad) say(words.became(server.name, wordOf(server), textOf(server)));
	}
	redraw(server.name);
	if (server.group === detail?.name) touchDetail();
}

function remove(name) {
	servers.delete(name);
	summaries.delete(name);
	redraw(name);
	if (name === detail?.name) touchDetail();
}

/** The selected server is drawn at once and as a whole. */
function select(server) {
	const before = selected;
	selected = server?.name ?? null;
	if (server) take(server, "selected");
	if (before) redraw(before);
	drawHero();
	if (before && server && before !== selected) say(words.switched(server.name, wordOf(server), textOf(server)));
}

// ---- Drawing: one frame for many events; a hidden tab has no frames, but a title, hence the timer

const changedNames = new Set(), rowsPerFrame = 600;
let frame = 0, frameTimer = 0;

function redraw(name) {
	if (name) changedNames.add(name);
	if (frame) return;
	frame = requestAnimationFrame(draw);
	frameTimer = setTimeout(draw, 250);
}

function draw() {
	cancelAnimationFrame(frame);
	clearTimeout(frameTimer);
	frame = 0;
	const names = [...changedNames].slice(0, rowsPerFrame);
	for (const name of names) changedNames.delete(name);
	drawRows(names);
	if (names.includes(selected)) drawHero();
	if (names.includes(detail?.name)) drawDetail();
	if (changedNames.size) redraw();
	drawTotals();
}

function drawRows(names) {
	const kept = [];
	for (const name of names) {
		const server = servers.get(name);
		if (server) kept.push(drawRow(rows.get(name) ?? makeRow(name), server));
		else dropRow(name);
	}
	kept.sort((a, b) => (a.order < b.order ? -1 : 1));
	kept.forEach(place);
}

// ---- Rows

const rows = new Map(); // by name
const visible = new Set(); // rows on the screen, or nearly

function makeRow(name) {
	const node = byId("row").content.firstElementChild.cloneNode(true);
	const part = selector => node.querySelector(selector);
	const row = {
		name, node, word: part(".level"), link: part(".name"), text: part(".text"),
		tags: part(".tags"), strip: part(".strip"), age: part(".age").appendChild(new Text()),
	};
	update(row.link, {textContent: name, href: addressOf(name)});
	row.link.dataset.opens = row.strip.dataset.server = name;
	row.strip.ariaLabel = stripLabel(name);
	node.row = row;
	rows.set(name, row);
	return row;
}

function dropRow(name) {
	const row = rows.get(name);
	if (!row) return;
	visibility.unobserve(row.node);
	clearTimeout(row.timer);
	visible.delete(row);
	rows.delete(name);
	row.node.remove();
}

function drawRow(row, server) {
	const {name, description, group, source, silence} = server;
	const level = levelOf(server), text = textOf(server);
	row.level = level;
	row.since = levelSince(server);
	const isHead = groups.has(name);
	row.group = group ?? (isHead ? name : source === "mqtt" ? words.otherHosts : words.otherServers);
	row.isTrouble = troubles.includes(level);
	// A group's own server comes first, and silenced trouble last.
	row.order = isHead && !row.isTrouble ? "" : `${silence ? 1 : 0}${rank(level)}${name}`;
	row.search = [name, text, description, group, source].join("\n").toLowerCase();
	drawParts(row, server, `row${silence ? " silenced" : ""}${detail?.name === name ? " open" : ""}`);
	drawAge(row);
	return row;
}

function drawAge({since, age}) {
	update(age, {data: since ? ageText(since) : ""});
}

/** Cells exist, and summaries are fetched, only for rows near the screen: 500 rows would have 45,000 cells. */
const visibility = new IntersectionObserver(entries => {
	for (const {target: {row}, isIntersecting} of entries) {
		if (isIntersecting) {
			visible.add(row);
			drawAge(row);
			showStrip(row.strip);
		} else {
			visible.delete(row);
			if (!row.strip.contains(focused())) row.strip.replaceChildren();
		}
	}
}, {rootMargin: "240px 0px"});

// ---- Groups: trouble comes first, from all groups, so that a folded group hides none

const groups = new Map(); // by name

function makeGroup(name) {
	const count = make("em"), list = make("ul", {role: "list", ariaLabel: name}), heading = make("h2", `${name} `, count);
	const node = name === words.attention
		? make("section.group.attention", heading, list)
		: make("details.group", {open: true}, make("summary", heading), list);
	node.order = name === words.attention ? "" : name.includes(" ") ? `~${name}` : name.toLowerCase();
	const next = [...byId("groups").children].find(other => other.order > node.order);
	byId("groups").insertBefore(node, next ?? null);
	const group = {node, list, count};
	groups.set(name, group);
	if (rows.has(name)) redraw(name); // its head
	return group;
}

let pointedAt = -Infinity; // when the pointer last moved over the list
const restTime = 1500;

/** Puts a row into its group, in order; later if a pointer or a finger is about to act, because it would miss. */
function place(row) {
	clearTimeout(row.timer);
	if (row.node.isConnected && performance.now() - pointedAt < restTime) {
		row.timer = setTimeout(() => {
			place(row);
			redraw();
		}, restTime);
		return;
	}
	const name = row.isTrouble ? words.attention : row.group;
	const {list} = groups.get(name) ?? makeGroup(name);
	if (row.node.parentNode === list && row.node.order === row.order) return;
	row.node.order = row.order;
	let next = null;
	for (let other = list.lastElementChild; other; other = other.previousElementSibling) {
		if (other.order < row.order) break;
		next = other;
	}
	const hadFocus = row.node.contains(focused()) && focused();
	list.insertBefore(row.node, next);
	if (hadFocus) hadFocus.focus({preventScroll: true}); // a move loses it
	visibility.observe(row.node);
}

// ---- Totals, filter, title and icon

const chosenLevels = new Set();
const chips = new Map(levels.map(level => [level, makeChip(level)]));

function makeChip(level) {
	const count = make("b");
	const chip = make(`button.${level}`, {ariaPressed: "false"}, makeShape(), count, make("span", words[level]));
	chip.onclick = () => {
		if (!chosenLevels.delete(level)) chosenLevels.add(level);
		chip.ariaPressed = String(chosenLevels.has(level));
		filterRows();
	};
	return {chip, count};
}

function filterRows() {
	drawTotals();
	for (const {node} of groups.values()) node.open = true; // a folded group would hide what was found
	const found = [...rows.values()].filter(row => !row.node.hidden);
	say(words.found(found.length, rows.size));
}

function drawTotals() {
	const wanted = byId("filter").value.trim().toLowerCase();
	const totals = {}, shown = new Map(), members = new Map();
	for (const {name, group, level, search, node} of rows.values()) {
		const isShown = search.includes(wanted) && (!chosenLevels.size || chosenLevels.has(level));
		totals[level] = (totals[level] ?? 0) + 1;
		const {all, worst} = members.get(group) ?? {all: 0, worst: "none"};
		if (name !== group) members.set(group, {all: all + 1, worst: rank(level) < rank(worst) ? level : worst});
		update(node, {hidden: !isShown});
		if (isShown) shown.set(node.parentNode, (shown.get(node.parentNode) ?? 0) + 1);
	}
	for (const [name, {node, list, count}] of groups) {
		update(node, {hidden: !shown.has(list)});
		const number = shown.get(list), more = node.order ? 0 : hub?.more, {all, worst} = members.get(name) ?? {};
		const ofAll = more ? words.found(number, number + more) : `${number}`;
		setText(count, all && rows.has(name) ? words.members(all, troubles.includes(worst) && words[worst]) : ofAll);
	}
	update(byId("nothing"), {
		hidden: shown.size > 0 || !hasServers, textContent: servers.size ? words.nothingFound : words.noServers,
	});
	drawHeader(hub?.counts ?? totals);
	if (isKiosk && !hub) fitSoon();
}

function drawHeader(totals) {
	for (const [level, {chip, count}] of chips) {
		setText(count, `${totals[level] ?? 0}`);
		chip.classList.toggle("zero", !totals[level]);
		update(chip, {hidden: level === "none" && !totals.none});
	}
	setText(byId("host"), site.host);
	root.classList.toggle("can-pull", detail != null || canRefreshAll());
	update(byId("refresh-all"), {hidden: !site.actions, disabled: !canRefreshAll()});
	const bad = troubles.filter(level => totals[level]);
	const summary = bad.map(level => `${totals[level]} ${words[level]}`).join(", ") || words.allOk;
	const isLive = cutSince == null && hasServers, otherwise = hasServers ? words.disconnected : words.connecting;
	update(byId("state"), {textContent: isLive ? words.live : otherwise, className: isLive ? "ok" : "none"});
	update(document, {title: words.title(isLive ? summary : otherwise, site.host)});
	const icon = isLive ? bad[0] ?? "ok" : "none";
	update(document.querySelector("link[rel=icon]"), {href: new URL(`icon-${icon}.svg`, base).href});
}

// ---- Strips: a cell for each part of a period; one tab stop, arrow keys, each cell opens its changes

const ranges = Object.keys(words.ranges);
let range = ranges.find(name => name === query.get("range")) ?? "day";
const summaries = new Map(); // by name: {period, buckets}
const wantedSummaries = new Set();
const serversPerRequest = 32;
let currentPeriod = {};

/** The period of all strips. Its ends are round, so that a cell keeps its meaning. */
function period() {
	const isDay = range === "day", length = isDay ? hour / 2 : day, count = isDay ? 48 : 90;
	const end = new Date(now());
	if (isDay) end.setMinutes(end.getMinutes() < 30 ? 30 : 60, 0, 0);
	else end.setHours(24, 0, 0, 0);
	const until = end.getTime(), since = until - count * length;
	if (currentPeriod.since !== since || currentPeriod.until !== until) {
		const starts = Array.from({length: count}, (_, index) => since + index * length);
		currentPeriod = {since, until, length, count, starts, labels: starts.map(isDay ? halfHourLabel : dayLabel)};
	}
	return currentPeriod;
}

const halfHourLabel = start =>
	`${dayFormat.format(start)}, ${clockFormat.format(start)} ${words.to} ${clockFormat.format(start + hour / 2)}`;
// The middle of a cell is on its day even if the clocks were changed since.
const dayLabel = start => dayFormat.format(start + day / 2);
const cellAt = time => Math.floor((time - period().since) / period().length);

function showStrip(strip) {
	wantSummary(strip.dataset.server);
	fillStrip(strip);
}

function wantVisible() {
	for (const row of visible) wantSummary(row.name);
	for (const name of [selected, detail?.name]) if (name) wantSummary(name);
}

/** Requests a summary, together with those of other servers. */
function wantSummary(name) {
	if (summaries.get(name)?.period === period()) return;
	if (!wantedSummaries.size) setTimeout(fetchSummaries, 20);
	wantedSummaries.add(name);
}

async function fetchSummaries() {
	const wanted = period(), names = [...wantedSummaries];
	wantedSummaries.clear();
	const times = `since=${iso(wanted.since)}&until=${iso(wanted.until)}&buckets=${wanted.count}`;
	for (let first = 0; first < names.length; first += serversPerRequest) {
		const some = names.slice(first, first + serversPerRequest);
		const list = some.map(name => `&server=${encodeURIComponent(name)}`).join("");
		const answers = await fetchLines(`./api/summary?${times}${list}`).catch(() => []);
		if (period() !== wanted) return;
		for (const {server, buckets} of answers) {
			if (!buckets) continue; // an error
			summaries.set(server, {period: wanted, buckets});
			fillStripsOf(server);
		}
	}
}

function fillStripsOf(name) {
	for (const strip of all(`.strip[data-server="${CSS.escape(name)}"]`)) {
		const row = strip.parentNode.row;
		if (!row || visible.has(row)) fillStrip(strip);
	}
}

/** Makes or updates the cells. They stay in place, and so does the focus. */
function fillStrip(strip) {
	const name = strip.dataset.server, {count, labels} = period();
	const buckets = summaries.get(name)?.buckets;
	if (buckets?.length !== count) return;
	if (strip.childElementCount !== count) {
		strip.replaceChildren(...labels.map(() => make("button", {tabIndex: -1})));
	}
	const chosen = detail?.name === name && detail.at != null ? cellAt(detail.at) : -1;
	const usual = strip.children[chosen] ?? strip.children[Math.min(count - 1, cellAt(now()))];
	const tabStop = strip.contains(focused()) ? focused() : usual;
	strip.ariaLabel = stripLabel(name, buckets);
	if (strip === detail?.strip) setText(detail.share, strip.ariaLabel);
	buckets.forEach((bucket, index) => {
		const cell = strip.children[index];
		const label = words.cell(labels[index], bucketText(bucket), bucket.changes);
		update(cell, {
			className: bucket.worst ?? "none", ariaLabel: label, title: label, tabIndex: cell === tabStop ? 0 : -1,
			ariaCurrent: index === chosen ? "true" : null,
		});
	});
}

function bucketText({worst, times}) {
	const bad = troubles.filter(level => times[level] > 0);
	if (!bad.length) return words[worst ?? "none"];
	return bad.map(level => `${words[level]} ${durationText(times[level])}`).join(", ");
}

const stripLabel = (name, buckets = []) => words.strip(name, words.ranges[range], shareText(buckets));

/** The share of the known time that was ok or warning, rounded down: only what is 100 % says 100 %. */
function shareText(buckets) {
	let good = 0, known = 0;
	for (const {times} of buckets) {
		good += times.ok + times.warning;
		known += times.ok + times.warning + times.unknown + times.critical;
	}
	return known ? `${Math.floor((good / known) * 10_000) / 100} %` : null;
}

/** Counts a change in the cell of now. Its times are exact again when the summary is next fetched. */
function countChange(server) {
	const bucket = summaries.get(server.name)?.buckets[cellAt(now())], level = levelOf(server);
	if (!bucket || level === "none") return;
	bucket.changes++;
	if (!bucket.worst || rank(level) < rank(bucket.worst)) bucket.worst = level;
	fillStripsOf(server.name);
}

function stripKey(event) {
	const cell = event.target, cells = [...cell.parentNode.children];
	const to = {
		ArrowLeft: cell.previousElementSibling, ArrowRight: cell.nextElementSibling, Home: cells[0], End: cells.at(-1),
	}[event.key];
	if (!to) return;
	event.preventDefault();
	moveTabStop(to);
}

function moveTabStop(cell) {
	for (const other of cell.parentNode.children) update(other, {tabIndex: -1});
	cell.tabIndex = 0;
	cell.focus();
}

function drawEnds() {
	const {since, until} = period();
	const format = range === "day" ? dateAndClock : dateFormat.format;
	const times = [format(since), format((since + until) / 2), words.now];
	for (const ends of all(".ends")) ends.replaceChildren(...times.map(text => make("time", text)));
}

/** Makes a large strip with its times. */
function makeHistory(name) {
	const strip = make("div.strip", {role: "toolbar", ariaLabel: stripLabel(name)});
	strip.dataset.server = name;
	return [make("div.history", strip, make("p.ends")), strip];
}

function setRange(next) {
	range = next;
	byId("range").value = next;
	for (const strip of all(".strip")) strip.replaceChildren();
	wantVisible();
	drawEnds();
}

// ---- The selected server: another one gets another node, which is filled before it is shown

let hero = null;

function drawHero() {
	const server = servers.get(selected);
	if (hero?.name === server?.name) return server && fillHero(hero, server);
	const hadFocus = byId("hero").contains(focused());
	hero = server ? makeHero(server) : null;
	byId("hero").replaceChildren(...(hero ? [hero.node] : []));
	if (!hero) return;
	showStrip(hero.strip);
	drawEnds();
	if (hadFocus) hero.link.focus({preventScroll: true});
}

function makeHero(server) {
	const [history, strip] = makeHistory(server.name);
	const made = {
		name: server.name, strip, node: make("div"), link: makeLink(server.name, server.name),
		tags: make("p.tags"), text: make("p.text"), word: make("p.level"), age: make("p"),
	};
	const side = make("div.side", made.word, made.age);
	made.node.append(makeShape(), make("h2", made.link, made.tags), made.text, side, history);
	fillHero(made, server);
	return made;
}

function fillHero(parts, server) {
	drawParts(parts, server, "hero");
	setText(parts.age, sinceText(server));
}

// ---- One server

let detail = null; // the parts of a server's view, {name, at, …}; null while it is not shown

/** Shows what the address names. */
function route(isStart) {
	const search = new URLSearchParams(location.search), before = detail;
	const name = search.get("server") ?? decodeURIComponent(location.pathname.slice(base.pathname.length));
	const at = search.has("at") ? Date.parse(search.get("at")) : null;
	const wantedRange = search.get("range");
	if (ranges.includes(wantedRange) && wantedRange !== range) setRange(wantedRange);
	if (before && before.name !== name) closeDetail();
	if (name && !detail) openDetail(name);
	if (detail && (detail !== before || detail.at !== at)) showChanges(at);
	if (!isStart) focusView(before);
}

function focusView(before) {
	if (detail) {
		const isCell = detail.at != null;
		(isCell ? detail.heading : detail.title).focus({preventScroll: !isCell});
	} else if (before) {
		scrollTo(0, before.scroll);
		rows.get(before.name)?.link.focus({preventScroll: true});
	}
}

/** Opens a server's view, at a cell if a time is given, or the list. */
function go(name, at) {
	const address = addressOf(name), separator = address.includes("?") ? "&" : "?";
	const search = at == null ? "" : `${separator}range=${range}&at=${iso(at)}`;
	history.pushState(null, "", address + search);
	route();
}

function openDetail(name) {
	const leaving = new AbortController(), {signal} = leaving, [history, strip] = makeHistory(name);
	const parts = {
		title: make("h2", {tabIndex: -1}), text: make("p.text"), age: make("p.note"), tags: make("p.tags"),
		share: make("h3"), history, facts: make("div"), values: make("div"), members: make("table"), more: make("div"),
	};
	const ofChanges = {heading: make("h3", {tabIndex: -1}), table: make("table.changes"), note: make("p.note")};
	const refresh = ending => post("refresh", {server: name}, ending);
	const buttons = {
		select: makeButton(words.select, () => post("select", {server: name})),
		silence: makeButton(words.silence, () => toggleSilence(name)),
		refresh: makeButton(words.refresh, () => refresh(signal)),
	};
	const word = make("span.level"), node = byId("detail");
	detail = {name, strip, leaving, signal, scroll: scrollY, node, word, ...parts, ...ofChanges, ...buttons};
	const back = makeLink("", `‹ ${words.allServers}`, "a.button");
	const changes = make("section", ...Object.values(ofChanges));
	detail.title.append(makeShape(), name, " ", word);
	node.replaceChildren(make("nav", back, ...Object.values(buttons)), ...Object.values(parts), changes);
	showDetail(true);
	refreshable(changes, () => true, () => showChanges(detail.at), signal);
	refreshable(detail.node, () => !detail.refresh.disabled, refresh, signal);
	if (!byId("list").offsetParent) scrollTo(0, 0); // the view is in the list's place
	drawDetail();
	showStrip(strip);
	drawEnds();
}

function closeDetail() {
	detail.leaving.abort(); // ends its loads and pulls
	showDetail(false);
	detail.node.replaceChildren();
	detail = null;
}

function showDetail(isShown) {
	detail.node.hidden = !isShown;
	root.classList.toggle("has-detail", isShown);
	rows.get(detail.name)?.node.classList.toggle("open", isShown);
}

function touchDetail() {
	if (!detail) return;
	detail.isOld = true;
	redraw(detail.name);
}

function drawDetail() {
	const server = servers.get(detail.name) ?? detail.server;
	const canAct = Boolean(server && site.actions && cutSince == null);
	for (const button of [detail.refresh, detail.select, detail.silence]) update(button, {hidden: !site.actions});
	update(detail.refresh, {disabled: !canAct || !server.refreshable});
	update(detail.select, {disabled: !canAct || server.name === selected});
	update(detail.silence, {disabled: !canAct, textContent: server?.silence ? words.unsilence : words.silence});
	if (hasServers) fetchDetail(detail, server);
	if (!server) {
		setText(detail.word, "");
		return setText(detail.text, hasServers && detail.server === null ? words.noServer : "");
	}
	drawParts(detail, server, "detail");
	update(detail.refresh, {
		textContent: server.refreshing ? words.refreshing : words.refresh, ariaBusy: server.refreshing ? "true" : null,
		title: server.refreshable ? "" : words.notRefreshable,
	});
	setText(detail.age, sinceText(server));
	detail.values.replaceChildren(...valueParts(server.values ?? []));
	drawFacts(server);
}

function drawFacts({description, source, group, silence, status}) {
	const time = text => text && timeText(Date.parse(text)), {check} = detail;
	const facts = {
		description, source, group,
		silence: silence && [silenceText(silence), silence.reason].filter(Boolean).join(": "),
		changed: time(status?.changedAt), updated: time(status?.updatedAt),
		checked: time(check?.startedAt), next: time(check?.next),
	};
	const shown = Object.entries(facts).filter(([, text]) => text);
	detail.facts.replaceChildren(makeList(shown.map(([key, text]) => [words.facts[key], text])));
}

/** Fetches what no event has, at most once a second. */
async function fetchDetail(here, known) {
	const {name, signal} = here, revision = known?.revision ?? null;
	if ((here.revision === revision && !here.isOld) || here.isFresh) return;
	if (here.revision !== undefined) showChanges(here.at);
	Object.assign(here, {revision, isFresh: true, isOld: false});
	setTimeout(() => {
		here.isFresh = false;
		redraw(name);
	}, second);
	const [answer] = await fetchLines(`./api/status/${encodeURIComponent(name)}`, {signal}).catch(() => []);
	if (here !== detail || cutSince != null) return;
	const {server = null, notices} = answer ?? {};
	const output = [server?.check?.output ?? server?.longOutput, server?.check?.errors].filter(Boolean).join("\n");
	Object.assign(here, {server, check: server?.check});
	here.more.replaceChildren(
		...(output ? [make("h3", words.output), make("pre", output)] : []),
		...(notices ?? []).map(text => make("p.note", text)));
	redraw(name);
	if (server?.source !== "mqtt" || server.group) return;
	const [{servers: list = []} = {}] = await fetchLines(`./api/list?host=${name}`, {signal}).catch(() => []);
	here.members.replaceChildren(...list.filter(({group}) => group).map(memberRow));
}

const memberRow = server => make(`tr.${levelOf(server)}`,
	make("th", {scope: "row"}, makeLink(server.name, server.name)),
	levelCell(levelOf(server), wordOf(server)), make("td.text", textOf(server)));

// ---- Values

function valueParts(values) {
	if (!values.length) return [];
	return [make("h3", words.values), makeList(values.map(value => [value.name, valueAndLimits(value)]))];
}

function valueAndLimits({value, unit, warning, critical}) {
	const limits = Object.entries({warning, critical}).filter(([, limit]) => limit != null);
	const text = limits.map(([level, limit]) => words.limit(words[level], valueText(limit, unit))).join(", ");
	return valueText(value, unit) + (text && ` (${text})`);
}

/** Formats a number with its unit, as `MeasuredValue.text` of statusd does. */
function valueText(value, unit) {
	const digits = (number, count) => number.toLocaleString("en-GB", {maximumFractionDigits: count});
	const short = (number, text) => `${digits(number, Math.abs(number) < 9.95 ? 1 : 0)} ${text}`;
	if (unit === "%") return short(value, unit);
	if (unit === "s" && value >= minute / second) return durationText(value * second);
	if (unit === "s") return value < 1 ? short(value * 1000, "ms") : short(value, unit);
	if (unit !== "B") return `${digits(value, 2)} ${unit === "c" ? "" : unit}`.trim();
	let power = 0;
	for (; Math.abs(value) >= 999.5 && power < words.bytes.length - 1; power++) value /= 1000;
	return short(value, words.bytes[power]);
}

// ---- Changes of one server: the newest ones, or those of one cell

async function showChanges(at) {
	const here = detail, {length} = period();
	here.at = at;
	drawChangesHeading();
	if (here.strip.childElementCount) fillStrip(here.strip);
	const times = at == null ? "limit=100" : `since=${iso(at)}&until=${iso(at + length)}&limit=200`;
	try {
		const url = `./api/history/${encodeURIComponent(here.name)}?${times}`;
		const changes = await fetchLines(url, {signal: here.signal});
		if (here !== detail || here.at !== at) return;
		here.table.replaceChildren(...changes.reverse().map(changeRow));
		setText(here.note, changes.length ? "" : words.noChanges);
	} catch {
		if (here === detail) setText(here.note, words.noHistory);
	}
}

function drawChangesHeading() {
	const {name, at, heading} = detail, {starts, labels} = period();
	if (at == null) return setText(heading, words.history);
	const index = cellAt(at);
	const step = (to, label) => {
		const button = makeButton(label, () => go(name, starts[to]));
		button.disabled = starts[to] == null;
		return button;
	};
	heading.replaceChildren(
		make("b", `${words.history}: ${labels[index] ?? timeText(at)}`),
		step(index - 1, words.earlier), step(index + 1, words.later), makeLink(name, words.allChanges, "a.button"));
}

function changeRow({kind, at, level, phase, stale, text, message, lasted}, index) {
	const isState = kind === "changed" || kind === "added";
	const state = {phase: phase ?? "loaded", stale, status: level && {level, text}, message};
	const shown = isState ? levelOf(state) : "none";
	const length = lasted != null ? durationText(lasted) : isState && index === 0 ? words.soFar : "";
	return make(`tr.${shown}`,
		make("th", {scope: "row"}, make("time", {dateTime: at}, timeText(Date.parse(at)))),
		make("td.number", length),
		levelCell(shown, isState ? wordOf(state) : words.kinds[kind] ?? kind),
		make("td.text", isState ? textOf(state) : message ?? ""));
}

const levelCell = (level, word) => make(`td.level-cell.${level}`, makeShape(), make("span.level", word));

// ---- Alerts: their receivers, if statusd-web may read them

async function fetchAlerts() {
	if (document.hidden || cutSince != null) return;
	const [{receivers} = {}] = await fetchLines("./api/alerts").catch(() => []);
	const part = byId("alerts"), failing = receivers?.filter(receiver => receiver.problem) ?? [];
	const shown = failing.length ? failing : receivers ?? [];
	update(part, {hidden: !shown.length});
	part.lastChild.replaceChildren(...shown.map(receiverItem));
	byId("list").insertBefore(part, failing.length ? byId("groups") : null); // failing ones are trouble, too
}

function receiverItem({name, problem, failures, deliveredAt, untold}) {
	const delivered = words.alertDelivered(deliveredAt && timeText(Date.parse(deliveredAt)));
	const parts = [problem ? words.alertFailed(failures, problem) : delivered];
	if (untold.length) parts.push(words.alertUntold(untold.map(({server}) => server).join(", ")));
	const level = problem ? "critical" : "ok";
	return make(`li.${level}`, makeShape(), make("b", name), make("span.text", parts.join(" · ")));
}

// ---- Actions: absent unless the site has them, and impossible while it is cut off

/** Asks for an action, and returns when it has ended. Aborting withdraws it. */
async function post(action, body, signal) {
	const request = {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal};
	try {
		const answer = await fetch(`./api/${action}`, request);
		await answer.text();
		say(answer.ok ? words.done : words.notDone);
	} catch (error) {
		if (error.name !== "AbortError") say(words.notDone);
	}
}

function toggleSilence(name) {
	if (servers.get(name).silence) return post("unsilence", {servers: [name]});
	return post("silence", {servers: [name], until: iso(now() + hour)});
}

async function refreshAll(signal) {
	byId("refresh-all").ariaBusy = "true";
	await post("refresh", {}, signal);
	byId("refresh-all").ariaBusy = null;
}

function canRefreshAll() {
	return site.actions && cutSince == null && [...servers.values()].some(server => server.refreshable);
}

// ---- Pull to refresh

const enough = 60; // half of the way of the finger, in pixels

/**
 * Lets a view be pulled while `canPull()`. The indicator stays until the handler's promise settles, or `leaving` is
 * aborted. The innermost view wins. `overscroll-behavior` keeps the browser's own pull away.
 */
function refreshable(view, canPull, handler, leaving) {
	let start = null, distance = 0, isLoading = false;

	function begin(event) {
		if (isLoading || event.isPull || !canPull()) return;
		event.isPull = true;
		start = event.touches.length === 1 && isAtTop(event.target) ? event.touches[0] : null;
		distance = 0;
	}

	function move({touches: [{clientX, clientY}]}) {
		if (!start) return;
		const down = clientY - start.clientY, isSideways = Math.abs(clientX - start.clientX) > down;
		if (down < 0 || scrollY > 0 || (!distance && isSideways)) start = null;
		distance = start ? Math.min(1.5 * enough, down / 2) : 0;
		drawPull(distance, distance < enough ? words.pull : words.release);
	}

	async function release({type}) {
		if (!start) return;
		start = null;
		if (distance < enough || type === "touchcancel") return drawPull(0);
		isLoading = true;
		drawPull(enough, words.refreshing, true);
		await handler(leaving);
		isLoading = false;
		if (!leaving?.aborted) drawPull(0);
	}

	const listeners = {touchstart: begin, touchmove: move, touchend: release, touchcancel: release};
	for (const type in listeners) view.addEventListener(type, listeners[type], {passive: true, signal: leaving});
	leaving?.addEventListener("abort", () => (start || isLoading) && drawPull(0));
}

function isAtTop(node) {
	for (let box = node; box && box !== document.body; box = box.parentElement) if (box.scrollTop > 0) return false;
	return scrollY <= 0;
}

function drawPull(distance, text = "", isLoading = false) {
	const pull = byId("pull");
	pull.style.translate = distance ? `-50% ${distance - 30}px` : "";
	pull.style.opacity = distance / 40;
	pull.ariaBusy = isLoading ? "true" : null;
	setText(pull.lastElementChild, text);
}

// ---- Stream: something comes every second, so silence means that statusd-web is dead

const longestSilence = 1900;
let stream = null, cursor = "", retryDelay = 500, retryTimer = 0, silenceTimer = 0;
let heardAt = Date.now();

function connect() {
	clearTimeout(retryTimer);
	stream?.close();
	// A new EventSource forgets the last ID, hence the parameter.
	const mine = stream = new EventSource(`./events${cursor && hasServers ? `?since=${encodeURIComponent(cursor)}` : ""}`);
	// Each attempt may take longer than the one before; otherwise a slow network would never be connected.
	retryDelay = Math.min(2 * retryDelay, 15 * second);
	expectWithin(Math.max(longestSilence, retryDelay));
	mine.onmessage = ({data, lastEventId}) => {
		retryDelay = 500;
		hear(JSON.parse(data), lastEventId);
	};
	// Browsers differ in whether they retry, so the page does it.
	mine.onerror = () => {
		mine.close();
		if (mine !== stream) return;
		clearTimeout(silenceTimer);
		lose();
		retryTimer = setTimeout(connect, Math.min(retryDelay, 3 * second));
	};
}

function hear(event, id) {
	if (id) cursor = id;
	if (isLeader) tabs?.postMessage({event, id});
	expectWithin(longestSilence);
	if (event.kind === "disconnected") return lose(event.since);
	if (event.time) setClock(event.time);
	heardAt = Date.now() + clockOffset;
	const wasCut = cutSince != null;
	cutSince = null;
	apply(event);
	if (wasCut) showConnected();
}

function expectWithin(milliseconds) {
	clearTimeout(silenceTimer);
	silenceTimer = setTimeout(silent, milliseconds);
}

function silent() {
	lose();
	if (isLeader) return connect();
	expectWithin(2 * longestSilence);
	if (!document.hidden) lead({steal: true});
}

/** Everything is grey from now on, and ages stand still. */
function lose(since) {
	if (cutSince != null) return;
	cutSince = since ? Date.parse(since) : heardAt;
	root.classList.add("is-cut");
	setText(byId("banner"), words.banner(timeText(cutSince)));
	drawTotals();
	drawAges();
	if (detail) drawDetail();
	tellCut();
}

function showConnected() {
	root.classList.remove("is-cut");
	setText(byId("banner"), "");
	if (hasServers) say(words.connectedAgain);
	summaries.clear();
	wantVisible();
	touchDetail();
	redraw();
	fetchAlerts();
}

// ---- Tabs: the tab that holds a lock has the stream, and tells the others

const lockName = `statusd:${base.pathname}`; // one origin may have several statusd
const tabs = navigator.locks ? new BroadcastChannel(lockName) : null; // without locks, each tab has a stream
let isLeader = false;
let queue = new AbortController();

/** Becomes the leader when no other tab is, or at once by stealing: a suspended tab keeps its lock and is silent. */
function lead({steal} = {}) {
	if (!tabs) return beginLeading();
	queue.abort();
	queue = new AbortController();
	navigator.locks.request(lockName, steal ? {steal} : {signal: queue.signal}, beginLeading).catch(() => {
		if (isLeader) stopLeading();
	});
}

function beginLeading() {
	isLeader = true;
	connect();
	return new Promise(() => {}); // holds the lock as long as the tab
}

function stopLeading() {
	isLeader = false;
	stream.close();
	clearTimeout(retryTimer);
	lead();
}

function tellCut() {
	if (isLeader && cutSince != null) tabs?.postMessage({event: {kind: "disconnected", since: iso(cutSince)}});
}

function welcomeTab() {
	const list = [...servers.values()].map(server => ({...server, selected: server.name === selected}));
	const event = {kind: "snapshot", servers: list, web: site, time: iso(now())};
	tabs.postMessage({event, id: cursor});
	if (hub) tabs.postMessage({event: hub});
	tellCut();
}

function hearTab({data}) {
	if (data.event && !isLeader) hear(data.event, data.id);
	else if (data.hello && isLeader && hasServers) welcomeTab();
}

// ---- Kiosk: the largest type with which every server is on the wall

const isKiosk = query.has("kiosk");

function fitSoon() {
	clearTimeout(fitSoon.timer);
	fitSoon.timer = setTimeout(fit, 100);
}

function fit() {
	for (let size = 64; size > 8; size--) {
		root.style.fontSize = `${size}px`;
		if (root.scrollHeight <= innerHeight) return;
	}
}

// ---- Start

function drawAges() {
	for (const row of visible) drawAge(row);
	for (const parts of [hero, detail]) {
		const server = servers.get(parts?.name);
		if (server) setText(parts.age, sinceText(server));
	}
}

function tick() {
	drawAges();
	tellCut();
	if (!hasServers) tabs?.postMessage({hello: true}); // asks the leader for a snapshot
	if (tick.period !== period()) {
		tick.period = period();
		drawEnds();
		if (cutSince == null) wantVisible();
	}
	setTimeout(tick, second - (now() % second));
}

function click(event) {
	const cell = event.target.closest(".strip button"), link = event.target.closest("a[data-opens]");
	if (cell) {
		const index = [...cell.parentNode.children].indexOf(cell);
		moveTabStop(cell);
		go(cell.parentNode.dataset.server, period().starts[index]);
	} else if (link && !(event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)) {
		event.preventDefault();
		go(link.dataset.opens);
	}
}

function key(event) {
	if (event.target.matches(".strip button")) stripKey(event);
	if (event.key !== "Escape") return;
	if (event.target === byId("filter") && event.target.value) {
		event.target.value = "";
		filterRows();
	} else if (detail) {
		go("");
	}
}

function fillWords() {
	for (const node of all("[data-word]")) node.textContent = words[node.dataset.word];
	for (const node of all("[data-label]")) node.ariaLabel = words[node.dataset.label];
	byId("filter").placeholder = words.filter;
	byId("counts").append(...[...chips.values()].map(({chip}) => chip));
	const samples = [...levels].reverse().map(level => make(`li.${level}`, make(`span.sample.${level}`), words[level]));
	byId("legend").append(...samples);
	byId("range").append(...ranges.map(name => new Option(words.ranges[name], name)));
}

function listen() {
	byId("filter").oninput = filterRows;
	byId("refresh-all").onclick = () => refreshAll();
	for (const id of ["hero", "list"]) refreshable(byId(id), canRefreshAll, refreshAll);
	byId("range").onchange = event => {
		setRange(event.target.value);
		if (detail?.at != null) go(detail.name);
	};
	byId("list").onpointermove = byId("list").onpointerdown = () => {
		pointedAt = performance.now();
	};
	document.onclick = click;
	document.onkeydown = key;
	document.onvisibilitychange = fetchAlerts;
	window.onpopstate = () => route();
	if (isKiosk) window.onresize = fitSoon;
	if (tabs) tabs.onmessage = hearTab;
}

function start() {
	fillWords();
	root.classList.toggle("kiosk", isKiosk);
	setRange(range);
	drawTotals();
	listen();
	route(true);
	lead();
	expectWithin(longestSilence);
	fetchAlerts();
	setInterval(fetchAlerts, 30 * second);
	tick();
}

start();
