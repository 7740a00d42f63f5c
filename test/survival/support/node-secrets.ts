/** What a thief with a node's files would read: the records of its store, decrypted, and the secrets in them. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { readSecret, secretFiles } from '../../../cli/cluster-files/cluster-material.ts';
import { KeyStore } from '../../../nodes/key-store.ts';
import type { TestCluster } from '../../support/cluster.ts';
import type { Needles } from './needles.ts';

/** Fields of node records that are secret, wherever they stand (nodes/dkg/record.ts, nodes/records/key-record.ts). */
const secretFields = ['polynomial', 'sealing_seed', 'box_seed', 'share', 'signing_share'];

/**
 * Adds every secret of every record of one node, and returns the names of the fields that were found. Works on a copy,
 * so that the node may be running.
 */
export async function addNodeSecrets(cluster: TestCluster, nodeId: number, needles: Needles): Promise<Set<string>> {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-thief-'));
  const storeDir = join(folder, 'store');
  const fields = new Set<string>();
  try {
    cpSync(join(cluster.dataDir, `node-${nodeId}`, 'store'), storeDir, { recursive: true });
    const storageKey = readSecret(cluster.dataDir, secretFiles.nodeStorage(nodeId));
    for (const [key, record] of await readRecords(storeDir, nodeId, storageKey)) {
      addSecretsOf(JSON.parse(new TextDecoder().decode(record)), `node ${nodeId} ${key}`, needles, fields);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return fields;
}

async function readRecords(storeDir: string, nodeId: number, storageKey: Uint8Array) {
  const level = new ClassicLevel<string, Uint8Array>(storeDir, { keyEncoding: 'utf8', valueEncoding: 'view' });
  const keys = (await level.keys().all()).filter((key) => !key.startsWith('meta/'));
  await level.close();
  const store = await KeyStore.open({ storeDir, nodeId, storageKey, random: (length) => new Uint8Array(length) });
  const records: [string, Uint8Array][] = [];
  for (const key of keys) records.push([key, (await store.load(key))!]);
  await store.close();
  return records;
}

/** Walks a record; every string under a secret field is hex of a secret. */
export function addSecretsOf(value: unknown, where: string, needles: Needles, fields: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (secretFields.includes(name)) {
      fields.add(name);
      for (const hex of [inner].flat() as string[]) needles.add(`${where} ${name}`, Buffer.from(hex, 'hex'));
    } else addSecretsOf(inner, where, needles, fields);
  }
}
