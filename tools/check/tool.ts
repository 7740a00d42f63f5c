/**
 * Runs a tool of node_modules, by the package's own entry and not through npx: no network, no lookup, no shell.
 */
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';

export interface ToolResult {
  readonly exitCode: number;
  readonly output: string;
}

interface ToolOptions {
  /** The tool writes directly to the terminal, and `output` stays empty. */
  readonly show?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

export function runTool(
  root: string,
  tool: string,
  args: readonly string[],
  { show = false, env = {} }: ToolOptions = {},
): Promise<ToolResult> {
  const bin = join(root, 'node_modules', '.bin');
  const child = spawn(join(bin, tool), args, {
    cwd: root,
    env: {
      // tsc, esbuild and buf are Go programs: with four times the garbage before each collection the compiler takes a sixth
      // less CPU, and no more memory.
      GOGC: '400',
      ...process.env,
      ...env,
      // buf finds its plugins on the PATH.
      PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
    },
    stdio: show ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ exitCode: 1, output: `${tool}: ${error.message}` }));
    child.once('close', (code) => resolve({ exitCode: code ?? 1, output }));
  });
}
