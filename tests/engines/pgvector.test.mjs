// Exported rows as parameters of PostgreSQL with pgvector: halfvec and bit. Run by npm run check:engines.

import assert from "node:assert/strict";
import { after, it } from "node:test";
import { init } from "zeropoint";
import { VectorIndex } from "zeropoint/search";
import { Random } from "../js/support/asserts.mjs";
import { providePostgres } from "./debian-postgres.mjs";

await init();
const postgres = await providePostgres();
after(() => postgres?.end());
const skip = postgres === undefined && "needs Debian's packages, and root";

const D = 44;
const random = new Random(398);
const rows = Array.from({ length: 100 }, () => random.normal(D));
const query = random.normal(D);

/** A file of COPY in its binary format: a row of an id and an exported vector for each id. */
function copyFile({ data, ids, bytesPerRow }) {
  const signature = [...Buffer.from("PGCOPY\n\xff\r\n\0", "latin1"), ...new Uint8Array(8)];
  const parts = [Uint8Array.from(signature)];
  for (const [i, id] of ids.entries()) {
    const head = new DataView(new ArrayBuffer(14));
    head.setInt16(0, 2);
    head.setInt32(2, 4);
    head.setInt32(6, id);
    head.setInt32(10, bytesPerRow);
    const row = data.subarray(i * bytesPerRow, (i + 1) * bytesPerRow);
    parts.push(new Uint8Array(head.buffer), row);
  }
  parts.push(Uint8Array.of(0xff, 0xff));
  return Buffer.concat(parts);
}

function exported(options) {
  return [rows, [query]].map((vectors) => {
    const index = new VectorIndex({ dimensions: D, ...options });
    index.add(vectors);
    return index;
  });
}

it("pgvector takes halfvec and bit, and finds the nearest rows by them", { skip }, () => {
  const [halves, ownHalf] = exported({ originals: "float32", groupSize: 16 });
  const [signs, ownSigns] = exported({ dtype: "binary" });
  const [half, bit] = [halves, signs].map((index) => index.export("pgvector"));
  assert.deepEqual([half.type, bit.type], [`halfvec(${D})`, `bit(${D})`]);
  postgres.write("half.bin", copyFile(half));
  postgres.write("bit.bin", copyFile(bit));
  postgres.write("half-query.bin", copyFile(ownHalf.export("pgvector")));
  postgres.write("bit-query.bin", copyFile(ownSigns.export("pgvector")));
  const table = (name, type, file) => [
    `create table ${name} (id int, e ${type});`,
    `copy ${name} from '${postgres.path(file)}' with (format binary);`,
  ];
  const told = (select, file) => `copy (${select}) to '${postgres.path(file)}' with (format csv);`;
  const nearest = (rows, queries, operator, file) =>
    told(
      `select ${rows}.id, ${rows}.e ${operator} q.e from ${rows}, ${queries} q order by ${rows}.e ${operator} q.e, ${rows}.id limit 10`,
      file,
    );
  const [value, byCosine, bySigns] = postgres
    .run(
      [
        "create extension vector;",
        ...table("h", half.type, "half.bin"),
        ...table("b", bit.type, "bit.bin"),
        ...table("hq", half.type, "half-query.bin"),
        ...table("bq", bit.type, "bit-query.bin"),
        told("select e::vector::real[] from h where id = 7", "value.csv"),
        nearest("h", "hq", "<=>", "cosine.csv"),
        nearest("b", "bq", "<~>", "signs.csv"),
      ],
      ["value.csv", "cosine.csv", "signs.csv"],
    )
    .map((text) => text.trim());

  const values = value.replace(/["{}]/g, "").split(",").map(Number);
  for (const [i, own] of values.entries()) {
    assert.ok(Math.abs(own - rows[7][i]) <= 2 ** -11 * Math.abs(rows[7][i]) + 2 ** -25, `${i}`);
  }
  const pairs = (text) => text.split("\n").map((line) => line.split(",").map(Number));
  const { hits } = halves.search(query);
  for (const [i, [id, distance]] of pairs(byCosine).entries()) {
    assert.equal(id, hits[i].id);
    assert.ok(Math.abs(1 - distance - hits[i].score) < 1e-3);
  }
  const differing = (row) => row.filter((value, i) => value > 0 !== query[i] > 0).length;
  for (const [id, distance] of pairs(bySigns)) assert.equal(distance, differing(rows[id]));
});
