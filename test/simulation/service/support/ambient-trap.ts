/**
 * Code that runs within `withoutAmbient` may use no clock, chance or timer of the process: what reads one throws, and is
 * noted. Followed is the asynchronous context, so that the test runner's own code is left alone.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/** What was used, with the place; empty when nothing was. */
export async function withoutAmbient(run: () => Promise<void>): Promise<string[]> {
  const inside = new AsyncLocalStorage<true>();
  const used: string[] = [];
  const restore: (() => void)[] = [];
  const check = (name: string): void => {
    if (inside.getStore() !== true) return;
    const { stack = '' } = new Error(name);
    used.push(`${name}: ${stack.split('\n').slice(3, 6).join(' ')}`);
    throw new Error(`${name} is not simulated`);
  };
  // biome-ignore lint/suspicious/noExplicitAny: functions of every shape.
  const trap = (owner: any, names: readonly string[], label: string): void => {
    for (const name of names) {
      const original = owner[name];
      owner[name] = (...args: unknown[]) => {
        check(`${label}${name}`);
        return original.apply(owner, args);
      };
      restore.push(() => {
        owner[name] = original;
      });
    }
  };
  const RealDate = globalThis.Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args) => {
      if (args.length === 0) check('new Date');
      return Reflect.construct(target, args);
    },
    get: (target, name) => {
      if (name === 'now') check('Date.now');
      return Reflect.get(target, name);
    },
  });
  restore.push(() => {
    globalThis.Date = RealDate;
  });
  trap(globalThis, ['setTimeout', 'setInterval', 'setImmediate', 'fetch'], '');
  trap(Math, ['random'], 'Math.');
  trap(performance, ['now'], 'performance.');
  trap(process, ['hrtime', 'uptime'], 'process.');
  trap(
    crypto,
    ['randomBytes', 'randomUUID', 'randomInt', 'randomFill', 'randomFillSync', 'scrypt', 'pbkdf2'],
    'crypto.',
  );
  trap(crypto.webcrypto.subtle, ['digest', 'sign', 'verify', 'importKey', 'encrypt', 'decrypt'], 'subtle.');
  trap(crypto.webcrypto, ['getRandomValues', 'randomUUID'], 'webcrypto.');
  syncBuiltinESMExports();
  try {
    await inside.run(true, run);
  } finally {
    for (const undo of restore.reverse()) undo();
    syncBuiltinESMExports();
  }
  return used;
}
