/** The actions of the page: each is a call as data, and what performs it. */
import type { CreateWebhook, Delivery, NewWebhook, SandboxNode, Webhook } from '../../../client/generated-api.ts';
import type { Client } from '../../../client/index.ts';
import { type Call, literal, operationCall, requestOf } from './call.ts';
import { nameInWords } from './words.ts';

export interface ConsoleAction {
  readonly name: string;
  readonly call: Call;
  readonly isHarmful?: boolean;
  send(client: Client): Promise<unknown>;
}

const partitionMs = 10_000;

/** What the sandbox can do to a process now. */
export function actionsOn({ id, process, state }: SandboxNode): readonly ConsoleAction[] {
  const name = nameInWords(process);
  const fault = { fault: 'partition', target: process, for_ms: partitionMs } as const;
  const crash: ConsoleAction = {
    name: 'Crash',
    isHarmful: true,
    call: operationCall(`Crash ${name}`, ['sandbox', 'crashNode'], [id], { restart_after_ms: 3_000 }),
    send: (client) => client.sandbox.crashNode(id, { restart_after_ms: 3_000 }),
  };
  const stop: ConsoleAction = {
    name: 'Stop',
    isHarmful: true,
    call: operationCall(`Stop ${name}`, ['sandbox', 'crashNode'], [id], { restart_after_ms: null }),
    send: (client) => client.sandbox.crashNode(id, { restart_after_ms: null }),
  };
  const pause: ConsoleAction = {
    name: 'Pause',
    call: operationCall(`Pause ${name}`, ['sandbox', 'pauseNode'], [id]),
    send: (client) => client.sandbox.pauseNode(id),
  };
  const resume: ConsoleAction = {
    name: 'Resume',
    call: operationCall(`Resume ${name}`, ['sandbox', 'resumeNode'], [id]),
    send: (client) => client.sandbox.resumeNode(id),
  };
  const restart: ConsoleAction = {
    name: state === 'down' ? 'Start' : 'Restart',
    call: operationCall(`${state === 'down' ? 'Start' : 'Restart'} ${name}`, ['sandbox', 'restartNode'], [id]),
    send: (client) => client.sandbox.restartNode(id),
  };
  const partition: ConsoleAction = {
    name: `Partition for ${partitionMs / 1_000} s`,
    isHarmful: true,
    call: operationCall(`Partition ${name}`, ['sandbox', 'createFault'], [], fault),
    send: (client) => client.sandbox.createFault(fault),
  };
  if (state === 'down') return [restart];
  if (state === 'paused') return [resume, restart, crash];
  const hasLinks = process !== 'worker' && process !== 'redis';
  // The gateway answers these calls itself.
  if (process === 'gateway') return [restart, crash, partition];
  return [crash, stop, pause, restart, ...(hasLinks ? [partition] : [])];
}

export function removeFault(id: string): ConsoleAction {
  return {
    name: 'Remove',
    call: operationCall(`Remove the fault ${id}`, ['sandbox', 'deleteFault'], [id]),
    send: (client) => client.sandbox.deleteFault(id),
  };
}

export const resetFaults: ConsoleAction = {
  name: 'Remove all',
  call: operationCall('Remove all faults', ['sandbox', 'resetFaults']),
  send: (client) => client.sandbox.resetFaults(),
};

/** A key of three of five nodes, or of fewer where there are fewer. */
export function makeKey(keyId: string, nodes: number): ConsoleAction {
  const totalNodes = Math.min(5, nodes);
  const threshold = Math.min(3, totalNodes);
  const body = { session_id: keyId, threshold, total_nodes: totalNodes, derivation: { curve: 'secp256k1' } };
  return {
    name: 'Make a key',
    call: {
      title: `Make the key ${keyId}`,
      requests: [
        requestOf(['signing', 'initiateDkg'], [], body),
        requestOf(['signing', 'exchangeDkgShares'], [], { session_id: keyId }),
      ],
      program: [`const key = await client.keys.create(${literal({ keyId, threshold, totalNodes })});`],
    },
    send: (client) => client.keys.create({ keyId, threshold, totalNodes }),
  };
}

/** `message`: the digest of what is signed, in base64. */
export function sign(keyId: string, intentId: string, message: string): ConsoleAction {
  const body = { transaction_intent_id: intentId, wallet_id: keyId, message_hash: message };
  return {
    name: 'Sign',
    call: {
      title: `Sign with ${keyId}`,
      requests: [
        requestOf(['signing', 'initiateSigning'], [], body),
        requestOf(['signing', 'submitSignatureShare'], [], {
          signing_session_id: '<signing_session_id of the answer>',
        }),
      ],
      program: [`await client.keys.sign(${literal({ keyId, intentId, message })});`],
    },
    send: (client) => client.keys.sign({ keyId, intentId, message }),
  };
}

/** Continues a paused session of the caller's: a fresh attempt of a key generation, or of a signature. */
export function resumeSession(kind: 'dkg' | 'signing', sessionId: string, token: string): ConsoleAction {
  const step = kind === 'dkg' ? 'exchangeDkgShares' : 'submitSignatureShare';
  const body = kind === 'dkg' ? { session_id: sessionId } : { signing_session_id: sessionId };
  const shown = { session_id: sessionId, resume_token: '<resume_token of GET /v1/sandbox/sessions/:id>' };
  return {
    name: 'Resume',
    call: {
      title: `Resume ${sessionId}`,
      requests: [requestOf(['signing', 'resumeSession'], [], shown), requestOf(['signing', step], [], body)],
      program: [
        `const { resume_token } = await client.sandbox.session(${literal(sessionId)});`,
        `await client.signing.resumeSession({ session_id: ${literal(sessionId)}, resume_token });`,
        `await client.signing.${step}(${literal(body)});`,
      ],
    },
    send: async ({ signing }) => {
      const resumed = await signing.resumeSession({ session_id: sessionId, resume_token: token });
      if (resumed.receipt?.state !== 'RECEIPT_STATE_RESUMED') throw new Error(receiptInWords(resumed.receipt));
      const { receipt } =
        kind === 'dkg'
          ? await signing.exchangeDkgShares({ session_id: sessionId })
          : await signing.submitSignatureShare({ signing_session_id: sessionId });
      if (receipt?.state !== 'RECEIPT_STATE_BACKEND_COMPLETED') throw new Error(receiptInWords(receipt));
      return receiptInWords(receipt);
    },
  };
}

export function receiptInWords(receipt: { readonly reason_code: string; readonly message: string } | null): string {
  return receipt === null ? 'the answer has no receipt' : `${receipt.reason_code}: ${receipt.message}`;
}

export const makeInbox: ConsoleAction = {
  name: 'Make an inbox',
  call: operationCall('Make an inbox', ['sandbox', 'createInbox'], [], {}),
  send: (client) => client.sandbox.createInbox({}),
};

/** What can be done to an endpoint of webhooks. `isInbox`: its receiver is the gateway. */
export function actionsOnWebhook({ id, status }: Pick<Webhook, 'id' | 'status'>, isInbox: boolean) {
  const ping: ConsoleAction = {
    name: 'Ping',
    call: operationCall(`Ping ${id}`, ['webhooks', 'ping'], [id]),
    send: (client) => client.webhooks.ping(id),
  };
  const change = { status: status === 'enabled' ? 'disabled' : 'enabled' } as const;
  const turn: ConsoleAction = {
    name: status === 'enabled' ? 'Disable' : 'Enable',
    call: operationCall(`Change ${id}`, ['webhooks', 'update'], [id], change),
    send: (client) => client.webhooks.update(id, change),
  };
  const remove: ConsoleAction = {
    name: 'Remove it',
    isHarmful: true,
    call: operationCall(`Remove ${id}`, isInbox ? ['sandbox', 'deleteInbox'] : ['webhooks', 'delete'], [id]),
    send: (client) => (isInbox ? client.sandbox.deleteInbox(id) : client.webhooks.delete(id)),
  };
  return [ping, turn, remove] as const;
}

export function redeliver({ webhook_id: webhook, id }: Pick<Delivery, 'webhook_id' | 'id'>): ConsoleAction {
  return {
    name: 'Deliver again',
    call: operationCall(`Deliver ${id} again`, ['webhooks', 'redeliver'], [webhook, id]),
    send: (client) => client.webhooks.redeliver(webhook, id),
  };
}

/** `created` gets the endpoint with its secret, which is shown once. */
export function newEndpoint(body: CreateWebhook, created: (webhook: NewWebhook) => void): ConsoleAction {
  return {
    name: 'Add an endpoint',
    call: operationCall('Add an endpoint', ['webhooks', 'create'], [], body),
    send: async (client) => created(await client.webhooks.create(body)),
  };
}
