// The self-test: node {{name}}_test.mjs
import { load, sizes } from "./{{name}}.js";

const samples = [
{{samples}}
];
const inputs = [{{inputs}}], outputs = [{{outputs}}], tolerance = {{tolerance}};
const f = await load();
const number = (word) => new Float64Array(new BigUint64Array([word]).buffer)[0];
let other = 0, wrong = 0;
const compare = (found, expected) => expected.forEach((x, k) => {
  const largest = expected.reduce((sum, y) => Math.max(sum, Math.abs(y)), 1);
  other += Object.is(found[k], x) ? 0 : 1;
  wrong += Math.abs(found[k] - x) <= tolerance * largest ? 0 : 1;
});
const rows = samples.map((row) => {
  const numbers = row.map(number), parts = {};
  for (const name of [...inputs, ...outputs]) parts[name] = numbers.splice(0, sizes[name]);
  return parts;
});
for (const row of rows) {
  const found = f.{{name}}(...inputs.map((name) => row[name]));
  for (const name of outputs) compare(found[name], row[name]);
}
const all = f.batch(rows.length, ...inputs.map((name) => rows.flatMap((row) => row[name])));
for (const name of outputs) compare(all[name], rows.flatMap((row) => row[name]));
const nothing = inputs.map((name) => new Float64Array(sizes[name]).fill(NaN));
try {
  f.{{name}}(...nothing);
  wrong += inputs.length ? 1 : 0;
} catch (error) {
  if (!(error instanceof RangeError)) throw error;
}
console.log(`{{name}}: ${rows.length} states, ${other} numbers with other bits: ${wrong ? "FAILED" : "passed"}`);
process.exitCode = wrong ? 1 : 0;
