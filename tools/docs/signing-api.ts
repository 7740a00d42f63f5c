/**
 * The generated parts of docs/signing-api.md: calls, fields, states, events, limits, directives, each from the registry or
 * descriptor that the service itself uses.
 */
import { type DescField, type DescFile, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { initialStates, isResumable, type SessionState, transitions } from '../../coordinator/contract/transitions.ts';
import { signingMethods } from '../../gateway/api/signing-methods.ts';
import { Session } from '../../gateway/signing/session-routes.ts';
import { contractVersion } from '../../proto/contract-version.ts';
import {
  file_svc_mesh_v1_mpc_wallet as contract,
  MockDirective,
  ReceiptState,
  ReceiptStateSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import * as limits from '../../proto/limits.ts';
import { type ReasonEntry, reasonCodes } from '../../proto/reason-codes.ts';
import { eventTypes } from '../../wallets/delivery/events/types.ts';
import { fieldRules } from './fields.ts';
import { codesOf } from './reason-codes.ts';
import { restRoutes } from './rest-routes.ts';
import { answerTable } from './schemas.ts';
import { code, table, withSections } from './sections.ts';

/** The page as it must be, from the present page: hand-written parts stay. */
export function signingApiPage(page: string): string {
  const parts = new Map([
    ['calls', callsTable()],
    ['reads', readsTable()],
    ['fields of a session', answerTable(Session)],
    ['states', statesTable()],
    ['diagram', stateDiagram()],
    ['lifetimes', lifetimesTable()],
    ['events', eventsTable()],
    ['limits', limitsTable()],
    ['directives', directivesTable()],
    ['contract version', `This server speaks **${contractVersion}**.`],
  ]);
  for (const message of messagesOf(contract)) parts.set(`fields of ${message.name}`, fieldsTable(message));
  const unknown = Object.keys(fieldRules).filter((name) => !parts.has(`fields of ${name}`));
  if (unknown.length > 0) throw new Error(`no such message: ${unknown.join(', ')}`);
  return withSections(page, parts);
}

function messagesOf(file: DescFile): readonly DescMessage[] {
  return file.messages;
}

function callsTable(): string {
  const rows = signingMethods.map(({ name, httpPath, requirement, request, response }) => [
    code(name),
    code(`POST ${httpPath}`),
    code(requirement.scope),
    code(request.name),
    code(response.name),
  ]);
  return table(['RPC', 'HTTP', 'Scope', 'Request', 'Response'], rows);
}

function readsTable(): string {
  const rows = restRoutes()
    .filter(({ tag }) => tag === 'Signing')
    .map(({ method, path, summary, scope = '' }) => [code(`${method} ${path}`), summary, code(scope)]);
  return table(['Endpoint', 'What it does', 'Scope'], rows);
}

function fieldsTable(message: DescMessage): string {
  const rules = { ...fieldRules[message.name] };
  const rows = message.fields.map((field) => {
    const rule = rules[field.name];
    if (rule === undefined) throw new Error(`${message.name}.${field.name} has no rule in tools/docs/fields.ts`);
    delete rules[field.name];
    return [String(field.number), code(field.name), typeOf(field), rule];
  });
  const unknown = Object.keys(rules);
  if (unknown.length > 0) throw new Error(`${message.name} has no field ${unknown.join(', ')}`);
  return table(['#', 'Field', 'Type', message.name.endsWith('Request') ? 'Rules' : 'Meaning'], rows);
}

function typeOf(field: DescField): string {
  const { fieldKind } = field;
  if (fieldKind === 'message') return field.message.name;
  if (fieldKind === 'enum') return field.enum.name;
  if (fieldKind === 'list' && field.listKind === 'scalar') return `repeated ${scalarName(field.scalar)}`;
  if (fieldKind === 'scalar') return scalarName(field.scalar);
  throw new Error(`${field.name} is of a kind that the page has no word for`);
}

function scalarName(scalar: ScalarType): string {
  return ScalarType[scalar].toLowerCase();
}

const isSessionState = (state: ReceiptState): state is SessionState => state in transitions;

function statesTable(): string {
  const rows = ReceiptStateSchema.values
    .filter(({ number }) => number !== ReceiptState.UNSPECIFIED)
    .map(({ number, name }) => [String(number), code(name), kindOf(number), codesOf(number).map(code).join(', ')]);
  return table(['#', 'State', 'A session in it', 'Reason codes'], rows);
}

function kindOf(state: ReceiptState): string {
  if (!isSessionState(state)) return 'none: a state of a call only';
  if (transitions[state].length === 0) return 'has ended';
  return isResumable(state) ? 'is paused: it can be resumed' : 'is open: it takes steps';
}

function stateDiagram(): string {
  const from = (states: readonly SessionState[]) => states.map((state) => `    [*] --> ${ReceiptState[state]}`);
  const all = Object.keys(transitions).map((number) => Number(number) as SessionState);
  const arrows = all.flatMap((state) =>
    transitions[state].map((next) => `    ${ReceiptState[state]} --> ${ReceiptState[next]}`),
  );
  const ends = all
    .filter((state) => transitions[state].length === 0)
    .map((state) => `    ${ReceiptState[state]} --> [*]`);
  return ['```mermaid', 'stateDiagram-v2', ...from(initialStates), ...arrows, ...ends, '```'].join('\n');
}

function eventsTable(): string {
  const ofSessions = Object.entries(eventTypes).filter(([type]) => /^(signing|dkg)\.session\./.test(type));
  return table(
    ['Type', 'When'],
    ofSessions.map(([type, when]) => [code(type), when]),
  );
}

function lifetimesTable(): string {
  return table(
    ['What', 'Default', 'Variable'],
    [
      [
        'a signing session, from its start and again from each resume',
        duration(limits.signingLifetimeMs),
        code('SIGNMESH_SIGNING_LIFETIME_MS'),
      ],
      ['a session that waits for a human', duration(limits.pendingLifetimeMs), code('SIGNMESH_PENDING_LIFETIME_MS')],
      [
        'a DKG session, from its start and again from each resume',
        duration(limits.dkgLifetimeMs),
        code('SIGNMESH_DKG_LIFETIME_MS'),
      ],
      ['a call’s wait for unreachable nodes', duration(limits.nodesWaitMs), code('SIGNMESH_NODES_WAIT_MS')],
      ['a session in the store, after its last change', duration(limits.retentionMs + limits.pendingLifetimeMs), ''],
      ['a key', 'no end', ''],
    ],
  );
}

function limitsTable(): string {
  return table(
    ['What', 'Limit'],
    [
      ['nodes of a cluster; node ids', `${limits.nodesMax}; 1 to ${limits.nodesMax}`],
      ['threshold', `${limits.thresholdMin} and more`],
      ['session_id', code(limits.sessionIdPattern.source.slice(1, -1))],
      [
        'identifiers, network id, correlation id, traceparent, client name and version',
        `${limits.identifierCharsMax} characters`,
      ],
      ['derivation_path', `${limits.derivationPathCharsMax} characters`],
      [
        'message_hash',
        `${limits.digestBytes} bytes (secp256k1); 1 to ${limits.ed25519MessageBytesMax} bytes (ed25519)`,
      ],
      ['a share, a partial signature', `${limits.scalarBytes} bytes`],
      ['payload, policy_approval_token, human_approval_witness', `${limits.opaqueBytesMax} bytes each`],
      ['resume_token', `${limits.resumeTokenCharsMax} characters`],
      ['HTTP body', `${limits.httpBodyBytesMax} bytes`],
      ['gRPC message', `${limits.grpcMessageBytesMax} bytes`],
    ],
  );
}

function directivesTable(): string {
  const registry: Readonly<Record<string, ReasonEntry>> = reasonCodes;
  const names = Object.values(MockDirective).filter((name) => typeof name === 'string' && name !== 'UNSPECIFIED');
  const rows = (names as string[]).map((name) => {
    const reason = `MOCK_${name.replace('FORCE_', 'FORCED_')}`;
    const entry = registry[reason];
    if (entry === undefined) throw new Error(`${name}: no reason code ${reason}`);
    return [code(`MOCK_DIRECTIVE_${name}`), code(ReceiptState[entry.state]), code(reason)];
  });
  return table(['mock_directive', 'State', 'Reason code'], rows);
}

function duration(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ] as const;
  // The largest unit without a remainder, but hours up to two days.
  const [unit, unitMs] = units.find(([name, size]) => ms % size === 0 && !(name === 'd' && ms < 2 * size)) ?? ['ms', 1];
  return `${ms / unitMs} ${unit}`;
}
