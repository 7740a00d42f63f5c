/**
 * The fault vocabulary: what can go wrong, as data. One schema serves scenario files, the sandbox API, the simulator and
 * the live fault injector; its field names are those of the files. docs/faults.md is generated from it.
 *
 * A fault has a target, a trigger (`at`), a probability, a count and a duration. Without `at` it begins when it is armed.
 * A trigger by time sets when it begins. A trigger by point fires it at the nth such frame.
 *
 * - Faults of a process, a clock, Redis or the queue trigger once, or `count` times when a point triggers them.
 * - Faults of links, byzantine faults, and those of stores, API servers and receivers hold for as long as they are armed:
 *   `for_ms`, or `count` triggers, or until they are removed. With a point they touch only those frames; with its `nth` and
 *   neither `count` nor `for_ms` only the nth. A fault that does not touch single frames (partition, half_open, stores,
 *   receivers) begins with the point's frame instead.
 */
import Type, { type Static, type TObject, type TProperties } from 'typebox';
import type { FaultKind } from './generated-types.ts';
import { refusalCodes } from './refusal-codes.ts';
import { Closed, OneOf } from './schema-kit.ts';
import { points, portNames } from './trigger-points.ts';

export type { Fault, FaultKind, FaultOf } from './generated-types.ts';

/** Names of the processes that a fault can target, in any form that `processName` takes. `node/*`: every node. */
const inCluster = '(cluster[/-]([1-9][0-9]?|100)[/-])?';
const node = '((node[/-])?([1-9][0-9]?|100)|node[/-]\\*)';
export const processPattern = `^(${inCluster}(${node}|coordinator|gateway)|(gateway|worker)[/-][1-9]|worker|redis|receiver)$`;

const Process = Type.String({
  pattern: processPattern,
  description:
    'node/1 (or node-1, or 1), node/*, coordinator, gateway, worker, redis, receiver; gateway/2, worker/2 where there are several (gateway/1 is gateway); of a further cluster cluster/2/node/1, cluster/2/node/*, cluster/2/coordinator, and the gateways’ links to it: cluster/2/gateway',
});
const NodeName = Type.String({
  pattern: `^${inCluster}${node}$`,
  description: 'node/1 (or node-1, or 1), or node/* for any',
});
const Ms = (description: string) => Type.Integer({ minimum: 0, maximum: 86_400_000, description });
const PositiveMs = (description: string) => Type.Integer({ minimum: 1, maximum: 86_400_000, description });

export const Trigger = Closed(
  {
    after_ms: Type.Optional(Ms('this long after the scenario began, or the fault was armed')),
    step: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: 'when this step of the scenario begins' }),
    ),
    point: Type.Optional(OneOf(points, 'at a frame of this kind')),
    phase: Type.Optional(
      OneOf(
        ['before', 'after'] as const,
        'before the frame or call leaves (it is then lost), or after; before by default',
      ),
    ),
    port: Type.Optional(
      OneOf(
        portNames,
        'at a call that a gateway or worker makes at this port, in a simulated world with the wallet API',
      ),
    ),
    call: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description:
          'of `port`: these calls alone, by the name that a trace shows: a Redis command or script (`store/commit.lua`), a queue (`webhooks`), a URL, a provider (`fireblocks`)',
      }),
    ),
    of: Type.Optional(Process),
    session: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'frames of this session alone' })),
    nth: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100_000, description: 'the nth such frame or call; 1 by default' }),
    ),
  },
  { description: 'when it begins. `of`: frames to or from this process, or its calls; by default the target' },
);

const common = {
  id: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$', description: 'its name in reports; given if missing' }),
  ),
  at: Type.Optional(Trigger),
  probability: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'of each trigger; 1 by default' })),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'how often it triggers, at most' })),
  for_ms: Type.Optional(PositiveMs('how long it holds')),
};
const onProcess = { target: Type.Union([Process, Type.Array(Process, { minItems: 1, maxItems: 100 })]) };
const onNode = { target: Type.Union([NodeName, Type.Array(NodeName, { minItems: 1, maxItems: 100 })]) };
/** `for`: the nodes that receive it. */
const onCoordinator = {
  target: Type.Literal('coordinator'),
  for: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 100 }), {
      minItems: 1,
      maxItems: 100,
      description: 'the nodes that receive the lie; all by default',
    }),
  ),
};
/** Alterations of one field: numbers to `zero`, one `above` or `below`; lists `shorter`, with one element `twice`, `reversed`. */
export const alterations = [
  'zero',
  'above',
  'below',
  'other',
  'empty',
  'shorter',
  'longer',
  'huge',
  'twice',
  'reversed',
  'missing',
] as const;
export type AlterationKind = (typeof alterations)[number];
/** One field of a message, by its name in the proto file, `signers.0.node_id` for a nested one; and its alteration. */
export const Alteration = Closed({
  field: Type.String({
    pattern: '^[a-z0-9_]{1,40}([.][a-z0-9_]{1,40}){0,4}$',
    description: 'its name in the proto file; `signers.0.node_id` for a nested field',
  }),
  change: OneOf(
    alterations,
    'a number, text, bytes, list or message: `zero`, one `above` or `below`, an`other`, `empty`, `shorter` or `longer` by one, `huge`, its first element `twice`, `reversed`, `missing`',
  ),
});
export type Alteration = Static<typeof Alteration>;
/** The failures of a token; HSM_… reason codes in lower case. */
export const hsmFailures = ['session_lost', 'pin_refused', 'timeout', 'token_absent', 'failed'] as const;
export type HsmFailure = (typeof hsmFailures)[number];
/** The misbehaviours of the vendor of MPC_VENDOR keys. */
export const vendorFailures = [
  'delay',
  'reject',
  'never_answers',
  'answers_twice',
  'lies',
  'callback_lost',
  'callback_out_of_order',
  'unavailable',
] as const;
export type VendorFailure = (typeof vendorFailures)[number];
/** The misbehaviours of a simulated custodian or the venue. */
export const providerFailures = ['late', 'twice', 'never', 'lost', 'refuses'] as const;
export const providerNames = ['fireblocks', 'bitgo', 'copper', 'sandbox'] as const;
const onLink = {
  ...onProcess,
  direction: Type.Optional(OneOf(['in', 'out', 'both'] as const, 'frames to the target, from it, or both (default)')),
};
/** Without route and rpc: every request, over HTTP and gRPC. */
const onApiServer = {
  route: Type.Optional(
    Type.String({
      pattern: '^((GET|POST|PATCH|DELETE) )?/[!-~]{0,200}$',
      description:
        'only HTTP requests of this route, e.g. `POST /v1/wallets/:id/transaction-intents`; without a method, of each',
    }),
  ),
  rpc: Type.Optional(
    Type.String({
      pattern: '^[A-Z][A-Za-z]{1,60}$',
      description: 'only gRPC calls of this method, e.g. `InitiateSigning`',
    }),
  ),
};

function kind<const K extends string, T extends TProperties>(name: K, properties: T, description: string) {
  return Closed({ fault: Type.Literal(name), ...common, ...properties }, { description });
}

/** One schema per kind, so that an error can name the field of that kind. */
export const faultSchemas = {
  crash: kind(
    'crash',
    {
      ...onProcess,
      restart_after_ms: Type.Optional(
        Type.Union([Ms('time until it restarts; 100 by default'), Type.Null()], {
          description: 'null: it stays down until a restart',
        }),
      ),
      lose_state: Type.Optional(Type.Boolean({ description: 'its store is lost too; false by default' })),
    },
    'the process ends at once, as by SIGKILL, and restarts',
  ),
  pause: kind(
    'pause',
    { ...onProcess, for_ms: PositiveMs('how long') },
    'the process stops running, as by SIGSTOP, and then continues',
  ),
  slow: kind(
    'slow',
    { ...onProcess, by_ms: PositiveMs('added to every frame to and from it') },
    'every frame to and from it takes longer',
  ),

  delay: kind(
    'delay',
    {
      ...onLink,
      by_ms: Type.Optional(PositiveMs('always this much')),
      min_ms: Type.Optional(Ms('at least')),
      max_ms: Type.Optional(PositiveMs('at most')),
      distribution: Type.Optional(
        OneOf(['uniform', 'exponential'] as const, 'between min_ms and max_ms; uniform by default'),
      ),
    },
    'frames arrive later; order within a link is kept',
  ),
  drop: kind('drop', onLink, 'frames are lost'),
  duplicate: kind(
    'duplicate',
    { ...onLink, copies: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })) },
    'frames arrive again; one copy by default',
  ),
  reorder: kind(
    'reorder',
    { ...onLink, within_ms: PositiveMs('each frame is delayed by up to this time') },
    'frames overtake each other',
  ),
  partition: kind(
    'partition',
    onLink,
    'no frame passes; frames wait; the link closes when heartbeats are missing for too long',
  ),
  hold: kind('hold', onLink, 'frames wait until the fault ends, and then arrive in order; heartbeats pass'),
  half_open: kind(
    'half_open',
    onProcess,
    'the peer vanishes without closing its link: frames are lost until missing heartbeats reveal it',
  ),
  corrupt: kind('corrupt', onLink, 'a byte of the frame is changed: the receiver closes the link'),
  truncate: kind('truncate', onLink, 'the frame is cut in two: the receiver closes the link'),

  bad_share: kind(
    'bad_share',
    {
      ...onNode,
      for: Type.Optional(Type.Array(Type.Integer({ minimum: 1, maximum: 100 }), { maxItems: 100 })),
      how: Type.Optional(
        OneOf(
          ['random', 'zero', 'unopenable', 'malformed'] as const,
          'another scalar (default), the scalar zero, a box sealed to another key, a box cut short',
        ),
      ),
    },
    'the dealer seals wrong shares, for some recipients or all',
  ),
  bad_commitment: kind(
    'bad_commitment',
    {
      ...onNode,
      how: Type.Optional(
        OneOf(
          ['other', 'too_few', 'too_many', 'identity', 'malformed'] as const,
          'another last coefficient (default), one commitment fewer, one more, an identity constant term, a point cut short',
        ),
      ),
    },
    'the dealer commits to another polynomial than it deals from, or to none',
  ),
  bad_proof: kind('bad_proof', onNode, 'the dealer’s proof of possession does not verify'),
  bad_partial: kind('bad_partial', onNode, 'its partial signatures are wrong'),
  equivocate: kind('equivocate', onNode, 'the dealer shows another opening at a second request'),
  withhold: kind('withhold', onNode, 'it does not answer'),
  stale_replay: kind('stale_replay', onNode, 'it repeats a frame of an earlier attempt or session'),
  false_report: kind(
    'false_report',
    { ...onNode, about: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })) },
    'it complains about an honest dealer, or reports another key',
  ),
  false_refusal: kind(
    'false_refusal',
    { ...onNode, code: OneOf(refusalCodes, 'the code of its refusal; it refuses the requests that allow this code') },
    'it refuses a request that it could serve',
  ),
  early_confirm: kind('early_confirm', onNode, 'it confirms a key before the request'),
  bad_nonces: kind(
    'bad_nonces',
    {
      ...onNode,
      how: OneOf(
        ['identity', 'invalid', 'duplicate', 'malformed'] as const,
        'the identity or zero; no point of the group or no scalar; the first one in place of the others; cut short',
      ),
    },
    'the nonces that it makes ahead are unusable',
  ),
  altered_answer: kind(
    'altered_answer',
    { ...onNode, ...Alteration.properties },
    'one field of the node’s answers is altered; frames without the field do not change',
  ),

  other_message: kind(
    'other_message',
    onCoordinator,
    'the coordinator asks some signers to sign a message that the client did not give',
  ),
  false_order: kind(
    'false_order',
    {
      ...onCoordinator,
      how: Type.Optional(
        OneOf(
          ['none', 'invented', 'earlier', 'unwitnessed'] as const,
          'without an order; with an invented order (default); with an order of an earlier session; with the true order and message, but without the witness’s order',
        ),
      ),
    },
    'the coordinator asks for partial signatures that no gateway ordered',
  ),
  other_scheme: kind(
    'other_scheme',
    {
      ...onCoordinator,
      how: Type.Optional(OneOf(['behind', 'instead'] as const, 'after the ordered request (default), or in its place')),
    },
    'the coordinator asks for a mock ECDSA partial under a key that signs BIP-340: its answer would give the key share',
  ),
  other_signers: kind(
    'other_signers',
    {
      ...onCoordinator,
      how: Type.Optional(
        OneOf(
          ['commitments', 'own', 'fewer', 'unsorted'] as const,
          'other commitments of another signer (default), other commitments of the receiving node, fewer signers than the threshold, signers out of order',
        ),
      ),
    },
    'the coordinator shows signers different lists of signers (FROST)',
  ),
  reuse_nonce: kind(
    'reuse_nonce',
    onCoordinator,
    'the coordinator asks for a second partial signature with the same nonce, in another list of signers',
  ),
  substitute_opening: kind(
    'substitute_opening',
    {
      ...onCoordinator,
      how: Type.Optional(
        OneOf(
          ['sealing_key', 'commitments'] as const,
          'the sealing keys of recipients (default), or the commitments of dealers',
        ),
      ),
    },
    'the coordinator relays openings with parts that it made up',
  ),
  supply_dealers: kind(
    'supply_dealers',
    onCoordinator,
    'the coordinator supplies the shares of every dealer itself, as a client may, to learn the key',
  ),
  split_confirm: kind(
    'split_confirm',
    onCoordinator,
    'the coordinator confirms a key to some nodes with different results',
  ),
  altered_request: kind(
    'altered_request',
    { ...onCoordinator, ...Alteration.properties },
    'one field of the coordinator’s requests to a node is altered; frames without the field do not change',
  ),

  second_process: kind(
    'second_process',
    onNode,
    'a second process with the node’s identity takes over its link, and then stays silent',
  ),

  second_coordinator: kind(
    'second_coordinator',
    { target: Type.Literal('coordinator') },
    'another coordinator of the cluster takes over the gateway; the first one hears the nodes, and continues what it had begun, until the fault ends',
  ),

  clock_skew: kind(
    'clock_skew',
    { ...onProcess, by_ms: Type.Integer({ minimum: -31_536_000_000, maximum: 31_536_000_000 }) },
    'its clock is wrong during the fault',
  ),
  clock_jump: kind(
    'clock_jump',
    { ...onProcess, by_ms: Type.Integer({ minimum: -31_536_000_000, maximum: 31_536_000_000 }) },
    'its clock jumps, once and permanently',
  ),

  store_lost: kind(
    'store_lost',
    onProcess,
    'a write is lost before it is stored, and gets no answer; for a gateway or worker any command to Redis, or with at.port any call of that port',
  ),
  store_unanswered: kind(
    'store_unanswered',
    onProcess,
    'a write, or such a call, takes effect, and its answer is lost',
  ),
  store_slow: kind('store_slow', { ...onProcess, by_ms: PositiveMs('added to every write') }, 'they take longer'),
  store_failing: kind('store_failing', onProcess, 'reads and writes fail; such a call is refused, without effect'),
  store_tampered: kind(
    'store_tampered',
    { target: Type.Literal('coordinator') },
    'Redis returns an altered session or key',
  ),
  store_full: kind(
    'store_full',
    { target: Type.Literal('coordinator') },
    'the tenant has reached its storage quota: clients cannot begin a session',
  ),
  provider_fails: kind(
    'provider_fails',
    {
      by: OneOf(
        providerFailures,
        'late: it answers by_ms later; twice: each request reaches it twice; never: it gets requests and does not answer; lost: it gets no request; refuses: it answers that it is unavailable',
      ),
      provider: Type.Optional(OneOf(providerNames, 'only this one; all by default')),
      by_ms: Type.Optional(PositiveMs('for late: the delay; 5,000 by default')),
    },
    'simulated custodians, and the venue, answer late, twice or never',
  ),
  hsm_fails: kind(
    'hsm_fails',
    {
      ...onNode,
      by: Type.Optional(OneOf(hsmFailures, 'how: token_absent by default')),
    },
    'the node’s PKCS#11 token does not sign',
  ),
  vendor_fails: kind(
    'vendor_fails',
    {
      by: OneOf(
        vendorFailures,
        'orders made during the fault take longer, are rejected, are never decided, or get a wrong signature (lies); callbacks arrive twice, never, or an old one last; or every request fails',
      ),
      by_ms: Type.Optional(PositiveMs('for delay: the additional time; 60,000 by default')),
    },
    'the simulated vendor of MPC_VENDOR keys behaves badly',
  ),
  rollback: kind(
    'rollback',
    {
      ...onProcess,
      restart_after_ms: Type.Optional(Ms('time until it restarts; 100 by default')),
    },
    'the process ends and restarts with its store as it was when the fault was armed; the coordinator’s store is Redis',
  ),
  redis_gone: kind(
    'redis_gone',
    { for_ms: PositiveMs('how long') },
    'Redis is unreachable, and comes back with its data',
  ),

  worker_stalled: kind(
    'worker_stalled',
    { for_ms: PositiveMs('how long') },
    'the webhook worker stops running for that time',
  ),
  double_delivery: kind('double_delivery', {}, 'the queue holds a job twice'),
  poison_job: kind('poison_job', {}, 'the queue holds a malformed job'),
  receiver_status: kind(
    'receiver_status',
    { status: Type.Integer({ minimum: 100, maximum: 599 }) },
    'the webhook receiver answers with this status',
  ),
  receiver_slow: kind('receiver_slow', { by_ms: PositiveMs('before it answers') }, 'the webhook receiver is slow'),
  receiver_reset: kind('receiver_reset', {}, 'the webhook receiver resets the connection'),

  answer_lost: kind('answer_lost', onApiServer, 'a request takes effect, and its connection is cut before the answer'),
  answer_slow: kind(
    'answer_slow',
    { ...onApiServer, by_ms: PositiveMs('before it is answered') },
    'answers come later',
  ),
  answer_status: kind(
    'answer_status',
    {
      ...onApiServer,
      status: Type.Integer({
        minimum: 400,
        maximum: 599,
        description:
          'on gRPC the status that the service gives with it: 400, 415 and 421 INVALID_ARGUMENT, 401 UNAUTHENTICATED, 403 ' +
          'PERMISSION_DENIED, 404 NOT_FOUND, 405 and 501 UNIMPLEMENTED, 408 and 504 DEADLINE_EXCEEDED, 409 ABORTED, 422 ' +
          'FAILED_PRECONDITION, 413, 429 and 431 RESOURCE_EXHAUSTED, 500 INTERNAL, 502 and 503 UNAVAILABLE; any other UNKNOWN',
      }),
      retry_after_s: Type.Optional(Type.Integer({ minimum: 0, maximum: 3600, description: 'the header Retry-After' })),
    },
    'a request is refused with this status, without effect',
  ),
  answer_cut: kind(
    'answer_cut',
    onApiServer,
    'a request takes effect, and its connection is reset in the middle of the answer’s body',
  ),

  force_receipt: kind(
    'force_receipt',
    { state: OneOf(['DENIED', 'REVOKED', 'EXPIRED', 'BACKEND_FAILED'] as const, 'the receipt state') },
    'signing sessions begin with a mock directive',
  ),
} as const satisfies Readonly<Record<FaultKind, TObject>>;

export const faultKinds = Object.keys(faultSchemas) as readonly FaultKind[];

/** Faults of byzantine nodes. A node may be blamed for these only. */
export const byzantineKinds = [
  'bad_share',
  'bad_commitment',
  'bad_proof',
  'bad_partial',
  'equivocate',
  'withhold',
  'stale_replay',
  'false_report',
  'false_refusal',
  'early_confirm',
  'bad_nonces',
  'altered_answer',
] as const satisfies readonly FaultKind[];

/** Faults of a malicious coordinator. It may then blame the nodes to which it lied. */
export const coordinatorKinds = [
  'other_message',
  'false_order',
  'other_scheme',
  'other_signers',
  'reuse_nonce',
  'substitute_opening',
  'supply_dealers',
  'split_confirm',
  'altered_request',
] as const satisfies readonly FaultKind[];

/** Faults between a gateway and its callers. */
export const apiServerKinds = [
  'answer_lost',
  'answer_slow',
  'answer_status',
  'answer_cut',
] as const satisfies readonly FaultKind[];

/** Kinds that only the simulated world has, with the reason. */
export const simulatedOnly: Readonly<Partial<Record<FaultKind, string>>> = {
  store_lost: 'a live store cannot lose single writes silently',
  store_unanswered: 'a live store cannot lose single answers',
  store_slow: 'a live store cannot be slowed for one process',
  store_failing: 'a live store cannot fail for one process; redis_gone makes Redis unreachable for all',
  hsm_fails: 'a live token is a device: remove it, or end the process of its module',
  provider_fails: 'in a live cluster test amounts cause failures of the simulated custodians (docs/wallet-guide.md)',
  store_tampered: 'faults do not change a live Redis behind its clients',
  store_full: 'a live tenant has a quota of bytes: SIGNMESH_TENANT_BYTES',
  rollback: 'live stores roll back together only, by a snapshot',
  second_coordinator: 'a live coordinator holds the port of its cluster: a second one cannot start while it runs',
};

const noApiServer = 'a simulated world without the wallet API has no gateway: its calls go to the coordinator';

/** Kinds of the live world, and of the simulated world only with the wallet API, with the reason. */
export const liveOnly: Readonly<Partial<Record<FaultKind, string>>> = {
  answer_lost: noApiServer,
  answer_slow: noApiServer,
  answer_status: noApiServer,
  answer_cut: noApiServer,
};
