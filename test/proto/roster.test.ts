/** The roster: read back as it was written, refused by the name of what is wrong, and bound whole by its digest. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { clustersMax } from '../../proto/limits.ts';
import {
  defaultSharing,
  parseEnvironment,
  parseRoster,
  type Roster,
  rosterDigest,
  serializeRoster,
} from '../../proto/roster.ts';

const key = (byte: number) => Buffer.alloc(32, byte);
const roster: Roster = {
  clusterId: 'c-1',
  number: 2,
  installation: 'c-0',
  sharing: { threshold: 2, totalNodes: 3 },
  nodes: [1, 2, 3].map((id) => ({ id, publicKey: key(id) })),
  coordinator: key(8),
  gateway: key(9),
};
const { number: _number, installation: _installation, sharing: _sharing, ...plain } = roster;

describe('cluster.json', () => {
  const document = JSON.parse(serializeRoster(roster, 'sandbox')) as Record<string, unknown>;
  const withField = (field: string, value: unknown) => JSON.stringify({ ...document, [field]: value });

  it('gives back the roster and the environment', () => {
    expect(parseRoster(serializeRoster(roster, 'sandbox'))).toEqual(roster);
    expect(parseRoster(serializeRoster(plain, 'production'))).toEqual(plain);
    for (const environment of ['sandbox', 'production'] as const) {
      expect(parseEnvironment(serializeRoster(plain, environment))).toBe(environment);
    }
    expect(serializeRoster(plain, 'sandbox')).not.toMatch(/number|installation|threshold|total_nodes/);
  });

  const node = { id: 1, public_key: '01'.repeat(32) };
  it.each([
    ['cluster_id', ''],
    ['cluster_id', 7],
    ['nodes', []],
    ['nodes', 'x'],
    ['nodes[0].id', [{ ...node, id: 2 }], 'nodes'],
    ['nodes[0].id', [null], 'nodes'],
    ['nodes[1].id', [node, node], 'nodes'],
    ['nodes[0].public_key', [{ ...node, public_key: '01'.repeat(31) }], 'nodes'],
    ['nodes[0].public_key', [{ ...node, public_key: 'AB'.repeat(32) }], 'nodes'],
    ['nodes[0].public_key', [{ ...node, public_key: ['01'.repeat(32)] }], 'nodes'],
    ['coordinator', '08'.repeat(33)],
    ['gateway', undefined],
    ['installation', 7],
    ['number', 0],
    ['number', 1.5],
    ['number', '2'],
    ['number', clustersMax + 1],
    ['threshold', 1],
    ['threshold', 4],
    ['threshold', 2.5],
    ['threshold', '2'],
    ['total_nodes', 1],
    ['total_nodes', 4],
    ['total_nodes', undefined],
  ])('is refused for its %s: %j', (named, value, field = named) => {
    expect(() => parseRoster(withField(field, value))).toThrow(`cluster.json: ${named} is missing or malformed`);
  });

  it('takes each number at its limits', () => {
    for (const number of [1, clustersMax]) expect(parseRoster(withField('number', number))).toMatchObject({ number });
    for (const threshold of [2, 3]) {
      expect(parseRoster(withField('threshold', threshold)).sharing).toEqual({ threshold, totalNodes: 3 });
    }
    expect(parseRoster(withField('total_nodes', 2)).sharing).toEqual({ threshold: 2, totalNodes: 2 });
  });

  it.each(['', '{', 'null', '7', '"x"'])('is not %j', (text) => {
    expect(() => parseRoster(text)).toThrow('cluster.json: the document is missing or malformed');
    expect(() => parseEnvironment(text)).toThrow('cluster.json: the document is missing or malformed');
  });

  it.each([undefined, 'Sandbox', 'test', 7])('has no environment %j', (environment) => {
    expect(() => parseEnvironment(withField('environment', environment))).toThrow('cluster.json: environment is');
  });
});

it('a change of any member, of an id, or of the order changes the digest; the sharing does not', () => {
  const [one, two, three] = roster.nodes as [Roster['nodes'][0], Roster['nodes'][0], Roster['nodes'][0]];
  const others: readonly Roster[] = [
    { ...roster, clusterId: 'c-2' },
    { ...roster, coordinator: key(7) },
    { ...roster, gateway: key(7) },
    { ...roster, coordinator: roster.gateway, gateway: roster.coordinator },
    { ...roster, nodes: [one, two] },
    { ...roster, nodes: [one, two, { ...three, publicKey: key(7) }] },
    { ...roster, nodes: [one, two, { ...three, id: 4 }] },
    { ...roster, nodes: [two, one, three] },
  ];
  const digests = [roster, ...others].map((each) => Buffer.from(rosterDigest(each)).toString('hex'));
  expect(new Set(digests).size).toBe(digests.length);
  expect(rosterDigest(roster)).toHaveLength(32);
  expect(rosterDigest(roster)).toBe(rosterDigest(roster));
  expect(rosterDigest(plain)).toEqual(rosterDigest(roster));
});

it('the digest covers cluster, coordinator, gateway and nodes, in fixed places', () => {
  const nodes = roster.nodes.flatMap(({ id, publicKey }) => [Buffer.from([0, 0, 0, id]), Buffer.from(publicKey)]);
  const text = Buffer.concat([Buffer.from('signmesh/roster/v1\0c-1\0'), key(8), key(9), ...nodes]);
  expect(Buffer.from(rosterDigest(roster))).toEqual(createHash('sha256').update(text).digest());
});

it('a key is shared by 3 of 5 nodes, or by all of fewer', () => {
  expect([2, 3, 4, 5, 9].map(defaultSharing)).toEqual([
    { threshold: 2, totalNodes: 2 },
    { threshold: 3, totalNodes: 3 },
    { threshold: 3, totalNodes: 4 },
    { threshold: 3, totalNodes: 5 },
    { threshold: 3, totalNodes: 5 },
  ]);
});
