/**
 * An attacking process that holds the real identities of some nodes: it sends valid frames that nothing asked for, as fast as it
 * may, on links of its own, and opens a cut link again at once. A program of its own, so that its work is not the test's.
 *
 * Its argument is a `Flood` as JSON; at the end it prints the frames that left this process, and the links it opened.
 */
import { pathToFileURL } from 'node:url';
import { WebSocket } from 'ws';
import { readRoster, readSecret, secretFiles } from '../../../cli/cluster-files/cluster-material.ts';
import { noTrace } from '../../../core/actors/contract.ts';
import { clientHandshake } from '../../../core/actors/live/handshake.ts';
import { identityFromSeed } from '../../../core/actors/live/handshake-crypto.ts';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import {
  decodeFrames,
  decodeHandshake,
  encodeFrame,
  encodeHandshake,
  type WireBodyInit,
  type WireMessage,
  wireProtocolVersions,
} from '../../../proto/wire.ts';

export const floodKinds = [
  'partialReply',
  'partialRefused',
  'noncesDealt',
  'keyDeleted',
  'vendorSettled',
  'dkgOpened',
  'dkgSealed',
  'dkgVerified',
  'dkgConfirmed',
  'dkgRefused',
  'ping',
  'empty',
  'hello',
] as const;
export type FloodKind = (typeof floodKinds)[number];

export interface Flood {
  readonly url: string;
  readonly dataDir: string;
  readonly nodes: readonly number[];
  readonly linksPerNode: number;
  readonly kinds: readonly FloodKind[];
  readonly perSecond: number;
  readonly seconds: number;
  /** Sessions that exist, "<tenant>/<session>"; the others are made up. */
  readonly sessions: readonly string[];
}

const codec = { encodeFrame, decodeFrames, encodeHandshake, decodeHandshake };
const bytes = (length: number) => systemRandom(length);
/** The most of a link's frames that wait in this process. */
const waitingBytesMax = 1_000_000;
const everyMs = 10;
let sent = 0;
let links = 0;
let made = 0;

function bodyOf(kind: FloodKind, nodeId: number): WireBodyInit | undefined {
  const request = made;
  switch (kind) {
    case 'partialReply':
      return {
        case: kind,
        value: { nodeId, outcome: { case: 'partial', value: bytes(32) }, attemptTag: BigInt(made) },
      };
    case 'partialRefused':
      return {
        case: 'partialReply',
        value: { nodeId, outcome: { case: 'refusal', value: { code: 1, message: 'x' } } },
      };
    case 'noncesDealt':
      return { case: kind, value: { scheme: 2, nodeBoot: 'flood', nonces: [{ number: 1n, hiding: bytes(32) }] } };
    case 'keyDeleted':
      return { case: kind, value: { nodeId, keySession: 'wal_x' } };
    case 'vendorSettled':
      return { case: kind, value: { nodeId, outcome: { case: 'partial', value: bytes(64) } } };
    case 'dkgOpened':
      return { case: kind, value: { request, opening: { dealer: nodeId, signature: bytes(64) } } };
    case 'dkgSealed':
      return { case: kind, value: { request, shares: [{ dealer: nodeId, recipient: 1, box: bytes(80) }] } };
    case 'dkgVerified':
      return { case: kind, value: { request, recipient: nodeId, verdicts: [] } };
    case 'dkgConfirmed':
      return { case: kind, value: { request, nodeId } };
    case 'dkgRefused':
      return { case: kind, value: { request, nodeId, code: 'NOT_OPEN', message: 'x' } };
    default:
      return undefined;
  }
}

function frame(kind: FloodKind, nodeId: number, sessions: readonly string[]): Uint8Array | undefined {
  const body = bodyOf(kind, nodeId);
  if (body === undefined) return undefined;
  made += 1;
  const isDkg = kind.startsWith('dkg');
  const known = sessions[made % (sessions.length * 2)];
  const [tenant, session] = (known ?? `t/${isDkg ? 'made-up-' : 'sig_made-up-'}${made}`).split('/') as [string, string];
  const actor = isDkg ? 'dkg' : kind === 'keyDeleted' ? 'closing' : 'signing';
  const to = kind === 'noncesDealt' ? 'cluster' : `${actor}/${tenant}/${session}`;
  const from = isDkg ? `node/${nodeId}/dkg/${tenant}/${session}` : `node/${nodeId}`;
  const message: WireMessage = { tenant, session, attempt: 1, body };
  return encodeFrame({ from, to, message, trace: noTrace });
}

/** Keeps one link open; returns how to send on it. */
function openLink(
  { url, dataDir }: Flood,
  nodeId: number,
  link: number,
  isOver: () => boolean,
): () => WebSocket | undefined {
  const roster = readRoster(dataDir, 'sandbox');
  let up: WebSocket | undefined;
  const connect = () => {
    if (isOver()) return;
    const handshake = clientHandshake(
      {
        protocolVersions: wireProtocolVersions,
        clusterId: roster.clusterId,
        joinSecret: readSecret(dataDir, secretFiles.join),
        identity: identityFromSeed(readSecret(dataDir, secretFiles.nodeIdentity(nodeId))),
        role: 'node',
        nodeId,
        boot: `flood-${link}`,
        coordinatorKey: roster.coordinator,
      },
      codec,
      systemRandom(32),
    );
    const ws = new WebSocket(url, { perMessageDeflate: false });
    ws.on('error', () => undefined);
    ws.on('message', (data) => {
      if (up === ws) return;
      const verdict = handshake.receive(data as Buffer);
      if (verdict.kind === 'hello') ws.send(verdict.hello);
      else if (verdict.kind === 'welcome') {
        links += 1;
        up = ws;
      }
    });
    ws.on('close', () => {
      if (up === ws) up = undefined;
      setTimeout(connect, 5);
    });
  };
  connect();
  return () => up;
}

async function run(flood: Flood): Promise<void> {
  const endMs = Date.now() + flood.seconds * 1000;
  const isOver = () => Date.now() >= endMs;
  const open = flood.nodes.flatMap((nodeId) =>
    Array.from({ length: flood.linksPerNode }, (_, link) => ({ nodeId, ws: openLink(flood, nodeId, link, isOver) })),
  );
  const perTick = Math.ceil((flood.perSecond * everyMs) / 1000 / open.length);
  const batches = new Map(
    flood.nodes.map((nodeId) => {
      const frames = Array.from({ length: 2_000 }, (_, index) => ({
        kind: flood.kinds[index % flood.kinds.length]!,
        bytes: frame(flood.kinds[index % flood.kinds.length]!, nodeId, flood.sessions),
      }));
      return [nodeId, frames] as const;
    }),
  );
  while (!isOver()) {
    for (const { nodeId, ws } of open) {
      const link = ws();
      if (link?.readyState !== WebSocket.OPEN || link.bufferedAmount > waitingBytesMax) continue;
      const frames = batches.get(nodeId)!;
      for (let count = 0; count < perTick; count += 1) {
        const { kind, bytes: encoded } = frames[(sent + count) % frames.length]!;
        if (encoded !== undefined) link.send(encoded);
        else if (kind === 'ping') link.ping();
        else if (kind === 'empty') link.send(Buffer.alloc(0));
        else {
          link.terminate();
          break;
        }
      }
      sent += perTick;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  process.stdout.write(`${JSON.stringify({ sent, links })}\n`);
  process.exit(0);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run(JSON.parse(process.argv[2]!) as Flood);
