/**
 * A child process that writes to a key store as fast as it can, two records a batch and then what was signed for an intent, and
 * tells each acknowledged number on stdout, until it is killed.
 */
import { randomBytes } from 'node:crypto';
import { KeyStore } from '../../../nodes/key-store.ts';
import { intentBucketKey } from '../../../nodes/records/records.ts';

const [storeDir] = process.argv.slice(2);
if (storeDir === undefined) throw new Error('usage: write-until-killed <directory>');
const random = (length: number) => new Uint8Array(randomBytes(length));
const store = await KeyStore.open({ storeDir, nodeId: 1, storageKey: new Uint8Array(32).fill(7), random });
for (let number = 1; ; number += 1) {
  const record = new TextEncoder().encode(`record ${number}`);
  await store.write({
    puts: [
      { key: `dkg/t/${number}`, record },
      { key: 'key/t/latest', record },
    ],
    deletes: [`dkg/t/${number - 2}`],
  });
  await store.write({ puts: [{ key: intentBucketKey('t', String(number)), record }], deletes: [] });
  process.stdout.write(`${number}\n`);
}
