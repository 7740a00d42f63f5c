/** docs/reason-codes.md, generated from the registry in proto/reason-codes.ts. */
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type ReasonEntry, reasonCodes } from '../../proto/reason-codes.ts';
import { code, table } from './sections.ts';

const registry: Readonly<Record<string, ReasonEntry>> = reasonCodes;

/** The meaning of each value of `helps` for a caller. */
const advice: Readonly<Record<ReasonEntry['helps'], { readonly short: string; readonly long: string }>> = {
  nothingToDo: { short: 'nothing to do', long: 'The call did what it was asked for.' },
  resume: {
    short: 'resume',
    long: 'ResumeSession with the resume_token of the checkpoint, then the step again. If the checkpoint has no token, the session is open and unchanged: the step alone is enough.',
  },
  correctedCall: {
    short: 'correct the call',
    long: 'The call as it stands can never succeed. It changed nothing; a corrected one may follow at once.',
  },
  newSession: { short: 'a new session', long: 'This session is over, or the id is taken. A new session may begin.' },
  never: { short: 'nothing', long: 'The call is refused because what it asks for is done already or cannot be done.' },
};

export function reasonCodesPage(): string {
  const used = new Set(Object.values(registry).map(({ helps }) => helps));
  const shown = (Object.keys(advice) as ReasonEntry['helps'][]).filter((helps) => used.has(helps));
  const rows = Object.entries(registry).map(([name, { state, text, helps }]) => [
    code(name),
    code(ReceiptState[state]),
    text,
    advice[helps].short,
  ]);
  return `<!-- Made from proto/reason-codes.ts. Do not edit: see CONTRIBUTING.md. -->
# Reason codes

Every receipt carries one in \`reason_code\`. The state is the receipt's, without its prefix \`RECEIPT_STATE_\`; the text is
the receipt's \`message\` where there is nothing more precise to say. Programs act on the code, never on the message. What
the states mean is in [signing-api.md](signing-api.md).

${table(['Code', 'State', 'Text', 'What helps'], rows)}

Some codes report a session as it is, and come with its own state instead of the one above: \`SHARE_ACCEPTED\` and
\`SHARE_VERIFIED\` (\`ACCEPTED\` or, after a resume, \`RESUMED\`), and \`SESSION_NOT_RESUMABLE\`.

| What helps | Meaning |
|---|---|
${shown.map((helps) => `| ${advice[helps].short} | ${advice[helps].long} |`).join('\n')}
`;
}

/** For the page on the signing API: each state with its codes. */
export function codesOf(state: ReceiptState): string[] {
  return Object.entries(registry)
    .filter(([, entry]) => entry.state === state)
    .map(([name]) => name);
}
