/**
 * The rule of ports: the control plane and the delivery of events may wait and may be asynchronous, but they take clock, timers,
 * randomness, queue, stores and the network as ports, so that a simulated world can run them. Only the
 * adapters of rooms.json reach the world.
 *
 * It searches the syntax tree, as purity.ts does, with the same limits.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ambientRandomness, breachesOf, type Impurity, type Node, type Report } from './purity.ts';
import { adapterOf, filesUnder } from './rooms.ts';

const forbiddenGlobals = new Map<string, string>([
  ['performance', 'take elapsedMs from the timers port'],
  ['console', 'take a log'],
  ['globalThis', 'name what you need as an argument'],
  ['fetch', 'take an egress port'],
  ...['setTimeout', 'setInterval', 'setImmediate'].map((name) => [name, 'take timers'] as const),
]);
/** Members of globals that read the world. */
const forbiddenMembers = new Map<string, string>([
  ['Date.now', 'take a clock'],
  ['Math.random', 'take random'],
  ['AbortSignal.timeout', 'take timers'],
]);
/** Members of a process; a variable of that name may hold its id. */
const processMembers =
  /^(argv|cpuUsage|cwd|emitWarning|env|exit|exitCode|hrtime|kill|memoryUsage|nextTick|off|on|once|pid|platform|send|std(in|out|err)|uptime)$/;
/** Modules without access to the world, and modules of which only these names have none. */
const pureBuiltins = new Set(['node:crypto', 'node:buffer', 'node:path', 'node:stream', 'node:util', 'node:zlib']);
const pureNames: Readonly<Record<string, readonly string[]>> = {
  'node:http': ['STATUS_CODES'],
  'node:net': ['isIP'],
};
const forbiddenPackages = /^(ioredis|bullmq|undici|ws)$/;
/** The live ports (core/actors/live/ports.ts). */
const livePorts = /^(system(Clock|Timers|Random|Ports)|shiftSystemClock)$/;

/** Every breach in the rooms under `root`, in the order of files and lines. */
export function findAmbient(root: string): Impurity[] {
  return filesUnder('ports', root)
    .flatMap((file) => ambientOf(file, readFileSync(join(root, file), 'utf8')))
    .filter(({ file, what }) => !mayReach(file, what));
}

/** Whether a file is an adapter that may have this breach. */
function mayReach(file: string, what: string): boolean {
  const reaches = adapterOf(file)?.reaches;
  return reaches !== undefined && new RegExp(reaches).test(what);
}

export function ambientOf(file: string, source: string): Impurity[] {
  return breachesOf(file, source, inspect);
}

function inspect(node: Node, report: Report): void {
  switch (node.type) {
    case 'Identifier': {
      const name = String(node.value);
      const hint = forbiddenGlobals.get(name);
      if (hint !== undefined) report(node, `${name}: ${hint}`);
      return;
    }
    case 'MemberExpression': {
      const member = nameOf(node.property);
      if (nameOf(node.object) === 'process' && processMembers.test(member))
        report(node, `process.${member}: take settings as arguments`);
      const hint = forbiddenMembers.get(`${nameOf(node.object)}.${member}`);
      if (hint !== undefined) report(node, `${nameOf(node.object)}.${member}: ${hint}`);
      if (ambientRandomness.test(member)) report(node, `${member}: take random`);
      return;
    }
    case 'NewExpression':
      if (nameOf(node.callee) === 'Date' && ((node.arguments as unknown[] | undefined) ?? []).length === 0)
        report(node, 'new Date(): take a clock');
      return;
    case 'CallExpression':
      if (nameOf(node.callee) === 'Date') report(node, 'Date(): take a clock');
      return;
    case 'ImportDeclaration':
      inspectImport(node, report);
  }
}

/** Types of the forbidden packages are forbidden too: code that takes a connection to Redis takes no port. */
function inspectImport(node: Node, report: Report): void {
  const from = nameOf(node.source);
  if (forbiddenPackages.test(from)) report(node, `import of ${from}: take a port`);
  if (node.typeOnly === true) return;
  const names = ((node.specifiers ?? []) as Node[])
    .filter(({ isTypeOnly }) => isTypeOnly !== true)
    .map((specifier) => nameOf(specifier.imported ?? specifier.local));
  const isWorldly = from.startsWith('node:') && !pureBuiltins.has(from);
  if (isWorldly && !names.every((name) => pureNames[from]?.includes(name) === true)) report(node, `import of ${from}`);
  for (const name of names) {
    if (ambientRandomness.test(name)) report(node, `${name}: take random`);
    if (livePorts.test(name)) report(node, `${name}: take the port`);
  }
}

function nameOf(node: unknown): string {
  return String((node as Node | undefined)?.value ?? '');
}
