/** The parts of faults that several kinds share: targets, triggers, and the alterations and failures by name. */
import Type, { type Static } from 'typebox';
import { Closed, OneOf } from './schema-kit.ts';
import { points, portNames } from './trigger-points.ts';

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
export const Ms = (description: string) => Type.Integer({ minimum: 0, maximum: 86_400_000, description });
export const PositiveMs = (description: string) => Type.Integer({ minimum: 1, maximum: 86_400_000, description });

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
      Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description: 'the nth such frame, call or request; 1 by default',
      }),
    ),
  },
  { description: 'when it begins. `of`: frames to or from this process, or its calls; by default the target' },
);

export const common = {
  id: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$', description: 'its name in reports; given if missing' }),
  ),
  at: Type.Optional(Trigger),
  probability: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'of each trigger; 1 by default' })),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'how often it triggers, at most' })),
  for_ms: Type.Optional(PositiveMs('how long it holds')),
};
export const onProcess = { target: Type.Union([Process, Type.Array(Process, { minItems: 1, maxItems: 100 })]) };
export const onNode = { target: Type.Union([NodeName, Type.Array(NodeName, { minItems: 1, maxItems: 100 })]) };
/** `for`: the nodes that receive it. */
export const onCoordinator = {
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
export const onLink = {
  ...onProcess,
  direction: Type.Optional(OneOf(['in', 'out', 'both'] as const, 'frames to the target, from it, or both (default)')),
};
/** Without route and rpc: every request, over HTTP and gRPC. */
export const onApiServer = {
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
