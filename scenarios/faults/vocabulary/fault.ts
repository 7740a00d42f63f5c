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
import Type, { type TObject, type TProperties } from 'typebox';
import {
  Alteration,
  common,
  hsmFailures,
  Ms,
  onApiServer,
  onCoordinator,
  onLink,
  onNode,
  onProcess,
  PositiveMs,
  providerFailures,
  providerNames,
  vendorFailures,
} from './fault-parts.ts';
import type { FaultKind } from './generated-types.ts';
import { refusalCodes } from './refusal-codes.ts';
import { Closed, OneOf } from './schema-kit.ts';

export type { Fault, FaultKind, FaultOf } from './generated-types.ts';

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
