/**
 * The text for a person when everything is ready: the addresses, the token, the existing keys, and three lines that produce a
 * signature when pasted into a shell.
 */
import { createHash } from 'node:crypto';
import type { ArmedChaos } from './chaos.ts';
import type { ReadyKey } from './ready-keys.ts';
import { duration, type Screen } from './screen.ts';

const rowNameWidth = 18;
/** An address known to every Ethereum developer: the second account of the usual test mnemonic. */
const exampleReceiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

export interface Ready {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  /** undefined: production has no ready-made token. */
  readonly token: string | undefined;
  /** The second token: another person's, for approvals. */
  readonly approverToken: string | undefined;
  readonly keys: readonly ReadyKey[];
  readonly secretSeed: boolean;
  /** The place of its data and logs; embedded: at most a file, from its end on. */
  readonly data:
    | { readonly kind: 'directory'; readonly path: string }
    | {
        readonly kind: 'embedded';
        readonly stateFile: string | undefined;
        /** undefined: it serves no metrics. */
        readonly metricsUrl: string | undefined;
      };
  readonly tookMs: number;
  readonly clusters: readonly { readonly cluster: number; readonly nodes: number }[];
  readonly gateways: readonly { readonly http: string; readonly grpc: string }[];
  /** Resident memory; undefined: the system does not say. */
  readonly bytesPerNode: number | undefined;
  /** By process. */
  readonly pids: Readonly<Record<string, number>>;
  readonly chaos: ArmedChaos | undefined;
}

/** The line for tools, and the content of `run/ready.json` while the cluster runs. */
export type ReadyLineFacts = ReturnType<typeof readyLine>;

/** `stop`: the way to stop it, e.g. "Ctrl-C". */
export function bannerLines(ready: ReadyLineFacts, stop: string, { dim, bold, yellow }: Screen): string[] {
  const row = (name: string, value: string) => `  ${dim(name.padEnd(rowNameWidth))} ${value}`;
  const lines = ['', bold(`signmesh is ready (${duration(ready.took_ms)}). ${stop} stops it.`), ''];
  // Production has neither a ready-made token nor a console.
  if (ready.token !== null) lines.push(row('console', `${ready.http}/ (the running cluster, in a browser)`));
  lines.push(row('REST', `${ready.http} (every operation: ${ready.http}/v1/docs)`));
  lines.push(row('gRPC', `${ready.grpc} (reflection is on)`));
  for (const { http, grpc } of ready.gateways.slice(1)) lines.push(row('a further gateway', `${http}, gRPC ${grpc}`));
  if (ready.metrics) lines.push(row('metrics', ready.metrics));
  if (ready.clusters.length > 1) {
    const nodes = ready.clusters.reduce((sum, { nodes: own }) => sum + own, 0);
    lines.push(row('clusters', `${ready.clusters.length}, with ${nodes} nodes`));
  }
  if (ready.token !== null) lines.push(row('token', ready.token));
  if (ready.approver_token !== null) lines.push(row('approver’s token', ready.approver_token));
  for (const key of ready.keys) {
    lines.push('', row('key', `${bold(key.wallet_id)} (${key.scheme}, ${key.public_key})`));
    for (const [network, address] of Object.entries(key.addresses)) lines.push(row(`  ${network}`, address));
  }
  if (ready.token !== null && ready.keys.length > 0) {
    lines.push('', '  A signature, in three lines to copy:', '', ...signingLines(ready.http, ready.token));
    lines.push('', '  A wallet of the cluster and a transfer, in three more:', '', ...walletLines(ready.http));
  }
  if (ready.chaos !== undefined) lines.push(...chaosLines(ready.chaos, row));
  const isPublic = ready.keys.length > 0 && !ready.secret_seed;
  const seed = isPublic ? ' The keys above come from a public seed: anyone can compute them.' : '';
  lines.push('', yellow(`  M0 is a mock. Never guard real funds with it.${seed}`));
  lines.push(dataRow(ready, row), '');
  return lines;
}

function chaosLines(
  { profile, seed, about, faults, file }: ArmedChaos,
  row: (name: string, value: string) => string,
): string[] {
  return [
    '',
    row('chaos', `${profile} (--chaos-seed ${seed}): ${about}`),
    ...faults.map(({ id, text, missing }) => row(`  ${id}`, missing === undefined ? text : `not here: ${missing}`)),
    row('  as a scenario', file),
  ];
}

function dataRow(
  { data_dir: folder, state_file: file }: ReadyLineFacts,
  row: (name: string, value: string) => string,
): string {
  if (folder !== null) return row('data and logs', folder);
  if (typeof file === 'string') return row('state', `loaded from ${file}; saved there at the end`);
  return row('state', 'lost at the end (use --state FILE to save it)');
}

/** Plain POSIX shell with curl and sed. Every paste is a new intent, since one intent is signed once. */
export function signingLines(httpUrl: string, token: string): string[] {
  const hash = createHash('sha256').update('hello from signmesh').digest('base64');
  const initiate = `{"transaction_intent_id":"'intent-$(date +%s)-$RANDOM'","wallet_id":"sandbox-secp256k1","message_hash":"${hash}"}`;
  const call = (path: string, body: string) =>
    `curl -s ${httpUrl}${path} -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '${body}'`;
  return [
    `TOKEN=${token}`,
    `ID=$(${call('/v1/signing/initiate', initiate)} | sed -n 's/.*"signing_session_id": *"\\([^"]*\\)".*/\\1/p')`,
    call('/v1/signing/share', `{"signing_session_id":"'$ID'"}`),
  ];
}

/** After the lines above, with their token: a connection, a wallet whose key the nodes make, a transfer from it. */
export function walletLines(httpUrl: string): string[] {
  const post = (path: string, body: string) =>
    `curl -s ${httpUrl}${path} -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '${body}'`;
  const id = `sed -n 's/^{"id":"\\([^"]*\\)".*/\\1/p'`;
  const wallet = `{"name":"first","provider_connection_id":"'$C'","network":"eip155:11155111"}`;
  const transfer = `{"asset":"ETH","amount":"0.25","destination":{"address":"${exampleReceiver}"}}`;
  return [
    `C=$(${post('/v1/provider-connections', '{"provider":"self_hosted","name":"cluster","credentials":{}}')} | ${id})`,
    `W=$(${post('/v1/wallets', wallet)} | ${id})`,
    post('/v1/wallets/$W/transaction-intents', transfer),
  ];
}

export function readyLine(ready: Ready) {
  return {
    event: 'ready',
    http: ready.httpUrl,
    grpc: ready.grpcAddress,
    token: ready.token ?? null,
    approver_token: ready.approverToken ?? null,
    keys: ready.keys.map((key) => ({
      wallet_id: key.walletId,
      curve: key.curve,
      scheme: key.scheme,
      public_key: key.publicKey,
      addresses: Object.fromEntries(key.addresses.map(({ network, address }) => [network, address])),
    })),
    secret_seed: ready.secretSeed,
    data_dir: ready.data.kind === 'directory' ? ready.data.path : null,
    ...(ready.data.kind === 'embedded' && {
      embedded: true,
      state_file: ready.data.stateFile ?? null,
      metrics: ready.data.metricsUrl ?? null,
    }),
    clusters: ready.clusters,
    gateways: ready.gateways,
    bytes_per_node: ready.bytesPerNode ?? null,
    pids: ready.pids,
    ...(ready.chaos !== undefined && { chaos: ready.chaos }),
    took_ms: Math.round(ready.tookMs),
  };
}
