/** A TCP proxy whose answers come late, for as long as it is told. */
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

export interface SlowProxy {
  readonly port: number;
  /** Every answer is this late, in milliseconds. May be changed. */
  delayMs: number;
  /** Of new connections. May be changed. */
  targetPort: number;
  stop(): Promise<void>;
}

export async function startSlowProxy(targetPort: number, delayMs: number): Promise<SlowProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(proxy.targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (bytes) => target.write(bytes));
    // One after the other, whatever the delay becomes meanwhile.
    let turn = Promise.resolve();
    target.on('data', (bytes) => {
      const dueMs = performance.now() + proxy.delayMs;
      turn = turn.then(async () => {
        while (proxy.delayMs > 0 && performance.now() < dueMs) await new Promise((resolve) => setTimeout(resolve, 10));
        client.write(bytes);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: SlowProxy = {
    port: (server.address() as AddressInfo).port,
    delayMs,
    targetPort,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
