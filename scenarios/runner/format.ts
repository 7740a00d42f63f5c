/**
 * The scenario format: client steps, faults and expectations in one file that runs simulated and live. Scenario files are YAML;
 * scenarios/schema.json is made from this schema. docs/scenarios.md explains it.
 *
 * A client runs its steps in order; several clients act at the same time. `session` names are the scenario's own: the world gives
 * every run real ids, so that a scenario may run again on the same cluster.
 */
import Type, { type Static } from 'typebox';
import { clustersMax } from '../../proto/limits.ts';
import type { Fault } from '../faults/vocabulary/fault.ts';
import { faultSchemas } from '../faults/vocabulary/fault.ts';
import { Alteration } from '../faults/vocabulary/fault-parts.ts';
import { Closed, OneOf } from '../faults/vocabulary/schema-kit.ts';
import { custodyExpectations, custodyStepSchemas, custodyWaits } from './custody-format.ts';
import { type clusterConstants, grpcCodes, type optionalSettings, ownKeystores, walletTerms } from './terms.ts';

const Name = (description: string) => Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$', description });
const Ms = (description: string) => Type.Integer({ minimum: 0, maximum: 604_800_000, description });
const NodeId = Type.Integer({ minimum: 1, maximum: 100 });

export const curves = ['secp256k1', 'ed25519'] as const;
export const keystores = ['MOCK_THRESHOLD', 'MPC_FROST'] as const;
export const receiptStates = [
  'ACCEPTED',
  'DENIED',
  'PENDING_HUMAN_APPROVAL',
  'RESUMED',
  'EXPIRED',
  'REPLAY_REJECTED',
  'REVOKED',
  'BACKEND_COMPLETED',
  'BACKEND_FAILED',
  'UNSUPPORTED_CLIENT_CONTRACT_VERSION',
] as const;

/** The expected answer of a step; checked when the step ends. */
export const StepExpectation = Closed({
  state: Type.Optional(OneOf(receiptStates, 'the receipt’s state')),
  reason_code: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())], { description: 'one of these' })),
  message_names: Type.Optional(Type.String({ description: 'the receipt’s message contains this' })),
  verified: Type.Optional(Type.Boolean({ description: 'of exchange_dkg_shares' })),
  is_complete: Type.Optional(Type.Boolean({ description: 'of submit_signature_share' })),
  resumable: Type.Optional(Type.Boolean()),
  error: Type.Optional(
    OneOf(
      ['UNAVAILABLE', 'OVERLOADED', 'DEADLINE_EXCEEDED', 'INTERNAL', 'MALFORMED', 'any'] as const,
      'the call has no answer',
    ),
  ),
  grpc: Type.Optional(OneOf(grpcCodes, 'of a gRPC call: it has no answer, and ends with this status')),
  grpc_reason: Type.Optional(
    Type.String({ description: 'the reason in the details of this status (google.rpc.ErrorInfo), e.g. RATE_LIMITED' }),
  ),
  at_least_ms: Type.Optional(Ms('the step takes this long, at least')),
  within_ms: Type.Optional(Ms('the step takes this long, at most; live runs are given 2 s more')),
});

const step = {
  step: Name('its name, unique in the scenario'),
  expect: Type.Optional(StepExpectation),
  /** Acts as a patient client: repeats a call without an answer, and resumes the session while possible, until it is done. */
  insist: Type.Optional(
    Type.Boolean({ description: 'repeat while there is no answer; resume what pauses. false by default' }),
  ),
  transport: Type.Optional(
    Type.Literal('grpc', {
      description:
        'it is a gRPC call to a gateway; otherwise HTTP, or, in a simulated world without gateways, a call to the coordinator',
    }),
  ),
  deadline_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: 600_000, description: 'of a gRPC call' })),
  alter: Type.Optional(
    Type.Unsafe<Alteration>({
      ...Alteration,
      description:
        'one field of its request is altered; what it answers is no answer of the session; in the simulated world alone',
    }),
  ),
};
const approval = Type.Optional(OneOf(['DIRECT_ALLOWED', 'HUMAN_REQUIRED'] as const, 'approval_mode'));
const walletService = Type.Optional(
  Type.Literal(true, {
    description: 'the wallet service asks, in one call; the key’s name begins with wal_; in the simulated world alone',
  }),
);
const signing = {
  key: Name('the session of the key that signs'),
  session: Name('what this scenario calls the signing session'),
  intent: Type.Optional(Name('the transaction intent; the step’s name by default')),
  message: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: 'what is signed, hashed for secp256k1; the intent by default',
    }),
  ),
  path: Type.Optional(Type.String({ maxLength: 200, description: 'BIP-32 path below the key' })),
  keystore: Type.Optional(OneOf(keystores, 'keystore_type')),
  approval,
  witness: Type.Optional(Type.Boolean({ description: 'a human_approval_witness comes with it' })),
  directive: Type.Optional(
    OneOf(['FORCE_DENIED', 'FORCE_REVOKED', 'FORCE_EXPIRED', 'FORCE_BACKEND_FAILED'] as const, 'mock_directive'),
  ),
  contract_version: Type.Optional(Type.String({ maxLength: 40 })),
  wallet_terms: Type.Optional(
    OneOf(walletTerms, 'what the wallet of the key asks of clients’ calls; in the simulated world alone'),
  ),
};
const dkg = {
  session: Name('what this scenario calls the key and its session'),
  threshold: Type.Optional(Type.Integer()),
  total_nodes: Type.Optional(Type.Integer()),
  curve: Type.Optional(OneOf(curves, 'secp256k1 by default')),
  keystore_type: Type.Optional(OneOf(ownKeystores, 'a key that nodes do not share; a shared key by default')),
  path: Type.Optional(
    Type.String({ maxLength: 200, description: 'its account: the hardened BIP-32 path that it stands for' }),
  ),
};

const oldPlay = Type.Optional(OneOf(['right', 'wrong'] as const, 'the old name of `client_supplied`, until 0.2'));

export const stepSchemas = {
  initiate_dkg: Closed({ ...step, call: Type.Literal('initiate_dkg'), ...dkg }),
  exchange_dkg_shares: Closed({
    ...step,
    call: Type.Literal('exchange_dkg_shares'),
    session: Name('the key’s session'),
    sender: Type.Optional(Type.Integer({ description: 'sender_node_id; 0, every node, by default' })),
    recipient: Type.Optional(Type.Integer({ description: 'recipient_node_id' })),
    client_supplied: Type.Optional(
      OneOf(['right', 'wrong'] as const, 'the caller supplies the sender’s share, a right or a wrong one'),
    ),
    play: oldPlay,
  }),
  make_key: Closed(
    { ...step, call: Type.Literal('make_key'), ...dkg, wallet_service: walletService },
    { description: 'both calls, one after the other: initiate_dkg and exchange_dkg_shares' },
  ),
  initiate_signing: Closed({ ...step, call: Type.Literal('initiate_signing'), ...signing }),
  submit_signature_share: Closed({
    ...step,
    call: Type.Literal('submit_signature_share'),
    session: Name('the signing session'),
    node: Type.Optional(Type.Integer({ description: 'node_id; 0, every node, by default' })),
    client_supplied: Type.Optional(
      OneOf(
        ['right', 'wrong'] as const,
        'the caller supplies that node’s partial: as the node would make it, or with a byte changed',
      ),
    ),
    play: oldPlay,
  }),
  sign: Closed(
    { ...step, call: Type.Literal('sign'), ...signing, wallet_service: walletService },
    { description: 'both calls, one after the other: initiate_signing and submit_signature_share' },
  ),
  refresh_key: Closed(
    {
      ...step,
      call: Type.Literal('refresh_key'),
      session: Name('the key’s session'),
      version: Type.Integer({
        minimum: 2,
        maximum: 2 ** 32 - 1,
        description: 'of the new shares: one above the present',
      }),
    },
    { description: 'new shares for the nodes of a key: `POST /v1/sandbox/keys/:id/refresh`' },
  ),
  close_key: Closed(
    {
      ...step,
      call: Type.Literal('close_key'),
      session: Name('the key of the wallet service'),
      clients_only: Type.Optional(Type.Boolean({ description: 'end the sessions of clients alone; the key stays' })),
    },
    { description: 'the wallet service ends the sessions of a key, and deletes it; in the simulated world alone' },
  ),
  inspect_session: Closed(
    { ...step, call: Type.Literal('inspect_session'), session: Name('the session') },
    { description: 'the gateway of a sandbox reads a session; in the simulated world alone' },
  ),
  preview_partial: Closed(
    { ...step, call: Type.Literal('preview_partial'), session: Name('the signing session'), node: Type.Integer() },
    {
      description: 'the gateway of a sandbox asks for a partial that is not submitted; in the simulated world alone',
    },
  ),
  read_sessions: Closed(
    {
      ...step,
      call: Type.Literal('read_sessions'),
      session: Type.Optional(Name('this session; the sessions of the tenant, newest first, by default')),
      kind: Type.Optional(OneOf(['dkg', 'signing'] as const, 'sessions of this kind alone')),
      states: Type.Optional(
        Type.Array(OneOf(receiptStates, ''), { maxItems: 10, description: 'in these states alone' }),
      ),
      limit: Type.Optional(Type.Integer({ description: 'the most sessions of a page; 100 by default' })),
      pages: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 100, description: 'reads up to this many; 1 by default' }),
      ),
    },
    { description: 'a gateway reads sessions; in the simulated world alone' },
  ),
  resume_session: Closed({
    ...step,
    call: Type.Literal('resume_session'),
    session: Name('the session'),
    token: Type.Optional(OneOf(['latest', 'first', 'wrong'] as const, 'latest by default')),
    witness: Type.Optional(Type.Boolean({ description: 'a human_approval_witness comes with it' })),
  }),
  wait: Closed({
    step: step.step,
    wait: Closed({
      ms: Type.Optional(Ms('waits this long')),
      session: Type.Optional(Name('until this session …')),
      state: Type.Optional(OneOf(receiptStates, '… is in this state')),
      nodes_ready: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 10_000, description: 'until this many nodes are linked, in all clusters' }),
      ),
      fired: Type.Optional(Name('until the fault of this id has triggered')),
      delivered: Type.Optional(
        Type.String({ description: 'until the receiver has acknowledged an event of this type' }),
      ),
      ...custodyWaits,
      ended: Type.Optional(Name('until this step, of another client, has ended')),
      within_ms: Type.Optional(Ms('after how long it fails; 30,000 by default')),
    }),
  }),
  ...custodyStepSchemas,
  inject: Closed({ step: step.step, inject: Type.Unsafe<Fault>({ description: 'a fault, armed now' }) }),
  heal: Closed(
    { step: step.step, heal: Type.Literal(true) },
    { description: 'every fault ends, and every process is brought up' },
  ),
  advance: Closed({ step: step.step, advance_ms: Ms('every clock goes forward by this much') }),
} as const;

export type StepKind = keyof typeof stepSchemas;
export type StepOf<K extends StepKind> = Static<(typeof stepSchemas)[K]>;
export type ScenarioStep = { [K in StepKind]: StepOf<K> }[StepKind];

/** The conditions that must hold at the end. */
export const Expectation = Closed({
  session: Type.Optional(Name('of this session:')),
  state: Type.Optional(OneOf(receiptStates, 'its state')),
  reason_code: Type.Optional(Type.String({ description: 'its reason code' })),
  culprits: Type.Optional(
    Type.Array(NodeId, {
      description: 'the nodes that it blames, exactly; without `session`: those that any session blames',
    }),
  ),
  attempts: Type.Optional(Type.Integer({ minimum: 0, description: 'its attempt number' })),
  signatures: Type.Optional(
    Type.Integer({ minimum: 0, description: 'how many signatures were released; each verifies' }),
  ),
  delivered: Type.Optional(
    Type.Array(Type.String(), { description: 'the webhook receiver has acknowledged events of these types' }),
  ),
  ...custodyExpectations,
  fired: Type.Optional(Name('the fault of this id …')),
  trigger_count: Type.Optional(
    Type.Integer({ minimum: 0, description: '… triggered this often; at least once by default' }),
  ),
  strikes: Type.Optional(Type.Integer({ minimum: 0, description: 'old name of `trigger_count`, until version 0.2' })),
});
export type Expectation = Static<typeof Expectation>;

/** A constant of the product that a run may change. */
const constant = (what: string, maximum = 604_800_000) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, description: `${what} by default; in simulated worlds alone` }));

const calls = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 }));
const ScenarioRateLimits = Closed(
  { reads: calls, writes: calls, signing: calls },
  {
    description:
      'calls that a tenant has in ten seconds, by class; the product’s where one is left out. Not counted by default',
  },
);
export type ScenarioRateLimits = Static<typeof ScenarioRateLimits>;

export const Cluster = Closed({
  nodes: Type.Optional(Type.Integer({ minimum: 2, maximum: 100, description: 'of each cluster; 5 by default' })),
  clusters: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: clustersMax,
      description: 'clusters under the same gateways and Redis; 1 by default',
    }),
  ),
  ready_made: Type.Optional(
    Type.Array(Name('the session of a key'), {
      minItems: 1,
      maxItems: 10,
      description:
        'keys that cluster 1 makes, as the ready-made keys of a sandbox; other keys go to the least loaded cluster. In simulated worlds alone',
    }),
  ),
  seed: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'of the simulated world; the scenario’s name by default',
    }),
  ),
  partial_timeout_ms: Type.Optional(
    Type.Integer({ minimum: 10, maximum: 600_000, description: 'a silent node is replaced after it; 300 by default' }),
  ),
  nodes_wait_ms: Type.Optional(
    Type.Integer({
      minimum: 10,
      maximum: 600_000,
      description: 'how long a call waits for unreachable nodes; 2,000 by default',
    }),
  ),
  gateways: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 9, description: 'gateway processes that clients call in turn; 1 by default' }),
  ),
  workers: Type.Optional(Type.Integer({ minimum: 1, maximum: 9, description: 'webhook workers; 1 by default' })),
  rate_limits: Type.Optional(ScenarioRateLimits),
  client_dealers: Type.Optional(
    Type.Boolean({
      description: 'nodes take client-supplied dealers; true by default, as a sandbox; false in simulated worlds alone',
    }),
  ),
  signing_lifetime_ms: constant('of a signing session, 15 minutes'),
  pending_lifetime_ms: constant('of a session that waits for a human, a day'),
  key_lifetime_ms: constant('of the making of a key, 10 minutes'),
  idle_ms: constant('a session without calls leaves memory after it, 60,000'),
  sweep_ms: constant('between two scans for expired sessions, 1,000'),
  calls_waiting: constant('calls that one session keeps waiting, 256', 65_536),
  nonce_batch: constant('nonces that a node deals at once at first, 4', 1_024),
  mailbox: constant('messages that wait for one session, 256, or for one key, 1,024', 65_536),
  link_news_ms: constant('until the coordinator learns that the link of a dead node is gone, 0'),
});

export const Scenario = Closed({
  scenario: Type.String({
    pattern: '^[a-z0-9][a-z0-9-]{0,79}$',
    description: 'its name: lower case and dashes, as the file’s',
  }),
  about: Type.String({ minLength: 1, maxLength: 2000, description: 'what it shows, in one paragraph' }),
  worlds: Type.Optional(
    Type.Array(OneOf(['simulated', 'live'] as const, ''), {
      minItems: 1,
      maxItems: 2,
      description: 'where it can run; both by default',
    }),
  ),
  cluster: Type.Optional(Cluster),
  faults: Type.Optional(Type.Array(Type.Union(Object.values(faultSchemas)), { maxItems: 200 })),
  steps: Type.Optional(
    Type.Array(Type.Union(Object.values(stepSchemas)), {
      minItems: 1,
      maxItems: 1000,
      description: 'of the one client',
    }),
  ),
  clients: Type.Optional(
    Type.Record(
      Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$' }),
      Type.Array(Type.Union(Object.values(stepSchemas)), { minItems: 1, maxItems: 1000 }),
      {
        description: 'instead of `steps`: several clients at the same time',
      },
    ),
  ),
  expect: Type.Optional(Type.Array(Expectation, { maxItems: 200 })),
});

export type ClusterConstant = (typeof clusterConstants)[number];

export type OptionalSetting = (typeof optionalSettings)[number] | 'clusters';

/** A scenario that was checked: `clients` is always set, defaults are filled in. */
export interface CheckedScenario {
  readonly scenario: string;
  readonly about: string;
  readonly worlds: readonly ('simulated' | 'live')[];
  readonly cluster: Required<Omit<Static<typeof Cluster>, ClusterConstant | OptionalSetting>> &
    Pick<Static<typeof Cluster>, ClusterConstant | OptionalSetting>;
  readonly faults: readonly Fault[];
  readonly clients: Readonly<Record<string, readonly ScenarioStep[]>>;
  readonly expect: readonly Expectation[];
}
