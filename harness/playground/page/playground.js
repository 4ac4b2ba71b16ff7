// The page: takes a recording, has the worker check it, and shows the report in a frame that cannot reach this page.

const [file, party, example, save, state, report] = ["file", "party", "example", "save", "state", "report"].map((id) =>
  document.getElementById(id),
);
const worker = new Worker("worker.js", { type: "module" });
let chosen = null;
let number = 0;
let shown = "";

function tell(text, wrong = false) {
  state.textContent = text;
  state.classList.toggle("wrong", wrong);
}

function check() {
  if (!chosen) return;
  number += 1;
  tell(`Checking ${chosen.name} …`);
  worker.postMessage({ number, file: chosen, party: party.value });
}

worker.onmessage = ({ data }) => {
  // A later recording is already being checked.
  if (data.number !== number) return;
  const good = data.code === 0;
  report.hidden = save.hidden = !good;
  if (!good) return tell(data.errors, true);
  URL.revokeObjectURL(shown);
  shown = URL.createObjectURL(new Blob([data.output], { type: "text/html" }));
  report.src = save.href = shown;
  save.download = `${chosen.name}.html`;
  tell(`${chosen.name} is checked.`);
};
worker.onerror = () => tell("The checks could not be loaded. The browser must support modules in workers and WebAssembly.", true);

function choose(recording) {
  chosen = recording;
  check();
}

file.addEventListener("change", () => file.files[0] && choose(file.files[0]));
party.addEventListener("change", check);
example.addEventListener("click", async () => {
  const text = await (await fetch("example.ndjson")).blob();
  file.value = "";
  choose(new File([text], "example.ndjson"));
});
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("over");
});
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  if (!event.dataTransfer.files[0]) return;
  // The field would still show the name of an earlier file, or of none.
  file.files = event.dataTransfer.files;
  choose(file.files[0]);
});
