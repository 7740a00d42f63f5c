/**
 * What the aims compare (rows.ts), measured in goes: each go measures every figure once, one after the other, so that a machine
 * whose speed changes changes both sides of a ratio. The first go warms up and does not count.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { httpClient } from '../../../clients/load/calls/http.ts';
import type { SigningCurve } from '../../../clients/load/calls/signing-caller.ts';
import { cpuSeconds, type Pids } from '../../../clients/load/measure/processes.ts';
import type { Operation } from '../../../clients/load/operations/operation.ts';
import { transferOperation } from '../../../clients/load/operations/transfer.ts';
import { webhookOperation } from '../../../clients/load/operations/webhook.ts';
import type { Evidence } from '../../../clients/load/verdict/signatures.ts';
import type { BenchCluster } from '../cluster/cluster.ts';
import { BareFloor } from '../floor/floor.ts';
import { type Rung, rungs } from '../floor/protocol.ts';
import { ceremonyOf } from '../load/load.ts';
import { walletReader } from '../operations/phases.ts';
import { fastifyRate } from '../reference/bare.ts';
import { bullmqRate } from '../reference/bullmq.ts';
import { frostRate } from '../reference/cryptography.ts';
import { nobleRates } from '../reference/noble.ts';
import type { DoorName, SigningScheme } from '../report/options.ts';
import type { Costs, Phase } from '../report/results.ts';

/** The bench, as this needs it. */
export interface GoBench {
  readonly cluster: BenchCluster;
  readonly evidence: Evidence[];
  readonly referenceMs: number;
  readonly phase: (what: string, inFlight: number, ceremony: () => Promise<void>, pids?: Pids) => Promise<Phase>;
  readonly sign: (door: DoorName, scheme: SigningScheme, inFlight: number) => Promise<Phase>;
  readonly keys: (curve: SigningCurve, inFlight: number) => Promise<Phase>;
  /** Settles an operation, and gives its checks this name. */
  readonly verify: (name: string, operation: Operation) => Promise<void>;
  readonly say: (line: string) => void;
}

const many = 64;
const keysInFlight = 8;
const drainWithinMs = 120_000;

/** Of each go that counts, in order. */
export async function costsOfGoes(bench: GoBench, goes: number): Promise<readonly Costs[]> {
  const { cluster, verify, say } = bench;
  const http = httpClient(cluster.httpUrl, cluster.token, many);
  const target = { url: cluster.httpUrl, grpc: undefined, token: cluster.token };
  const transfers = await transferOperation(http, cluster.client, target, randomUUID);
  const webhook = await webhookOperation(http, cluster.client);
  const reader = await walletReader(cluster, many);
  const costs: Costs[] = [];
  for (let go = 0; go <= goes; go += 1) {
    say(go === 0 ? 'bench: a go that warms up …' : `bench: go ${go} of ${goes} …`);
    costs.push(await costsOfGo(bench, { transfers, webhook, read: reader.one }, go));
  }
  await verify('transfers of the aims', transfers);
  await verify('webhooks of the aims', webhook);
  await reader.close();
  await http.close();
  return costs.slice(1);
}

type Webhook = Awaited<ReturnType<typeof webhookOperation>>;

interface Prepared {
  readonly transfers: Operation;
  readonly webhook: Webhook;
  readonly read: () => Promise<void>;
}

async function costsOfGo(bench: GoBench, { transfers, webhook, read }: Prepared, go: number): Promise<Costs> {
  const { phase, sign, keys, referenceMs, cluster } = bench;
  const floor = await onRung(bench, rungs.bare, go, [many]);
  const last = await onRung(bench, rungs.memory, go, [many, 1]);
  const key = { secp256k1: await keys('secp256k1', keysInFlight), ed25519: await keys('ed25519', keysInFlight) };
  const [ed25519, secp256k1] = nobleRates(referenceMs);
  const signed = 'until the provider took it';
  return {
    floor: floor[0]!.cpuMsPerCeremony,
    lastRung: last[0]!.cpuMsPerCeremony,
    lastRungP50: last[1]!.latency.p50,
    coordinator: (await sign('coordinator', 'ecdsa', many)).cpuMsPerCeremony,
    rest: (await sign('rest', 'ecdsa', many)).cpuMsPerCeremony,
    p50: (await sign('rest', 'ecdsa', 1)).latency.p50,
    frost: (await sign('rest', 'ed25519', many)).cpuMsPerCeremony,
    frostAlone: frostRate(referenceMs).cpuMs,
    key: { secp256k1: key.secp256k1.cpuMsPerCeremony, ed25519: key.ed25519.cpuMsPerCeremony },
    nobleKey: { secp256k1: secp256k1!.dkg.cpuMs, ed25519: ed25519!.dkg.cpuMs },
    transfer: (await phase('self_hosted transfers', many, ceremonyOf(transfers, signed))).cpuMsPerCeremony,
    read: (await phase('GET one wallet', many, read)).cpuMsPerCeremony,
    bareRoute: (await fastifyRate(many, referenceMs)).cpuMsEach,
    delivery: await deliveryCost(bench, webhook),
    bareJob: (await bullmqRate(cluster.redisUrl, referenceMs, cluster.pids)).cpuMsEach,
  };
}

async function onRung(bench: GoBench, rung: Rung, go: number, inFlight: readonly number[]): Promise<Phase[]> {
  const { cluster, evidence, phase } = bench;
  const folder = join(cluster.dataDir, `aims-${rung}-${go}`);
  mkdirSync(folder);
  const floor = await BareFloor.start(rung, cluster.redisUrl, folder);
  // The bare floor writes nothing.
  const pids = rung === rungs.bare ? floor.pids : { ...floor.pids, redis: cluster.pids.redis! };
  const phases: Phase[] = [];
  try {
    for (const callers of inFlight) {
      phases.push(await phase(`rung ${rung} of the ladder`, callers, () => floor.sign(evidence), pids));
    }
  } finally {
    await floor.stop();
  }
  return phases;
}

/** Of the worker and Redis, while deliveries that have piled up are sent and nothing else happens. */
async function deliveryCost({ phase, cluster }: GoBench, webhook: Webhook): Promise<number> {
  await phase('change a wallet', many, ceremonyOf(webhook, 'PATCH /v1/wallets/:id'));
  const { worker, redis } = cluster.pids;
  const used = () => Object.values(cpuSeconds({ worker: worker!, redis: redis! })).reduce((sum, s) => sum + s, 0);
  const [deliveries, before] = [webhook.open, used()];
  await webhook.settle(performance.now() + drainWithinMs);
  return (1000 * (used() - before)) / Math.max(1, deliveries);
}
