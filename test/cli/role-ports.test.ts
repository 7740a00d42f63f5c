/** The ports of role processes as `up` starts them, with real listeners of 40 clusters side by side. */
import type { Server } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ListensMessage, type PortTakenMessage, reservedPortsVariable } from '../../cli/common/channel.ts';
import { ListenFailure, listenFailure } from '../../cli/common/ports.ts';
import { holdPort, portOf, RolePorts } from '../../cli/role-ports.ts';
import { type ChildPort, ChildPorts } from '../../cli/up/child-ports.ts';

const host = '127.0.0.1';
const variables = { coordinator: 'SIGNMESH_COORDINATOR_PORT', http: 'SIGNMESH_HTTP_PORT', grpc: 'SIGNMESH_GRPC_PORT' };
const close = (server: Server) => new Promise((resolve) => server.close(resolve));

function listen(variable: string, port: number): Promise<Server> {
  return holdPort(host, port).catch((error: unknown) => {
    throw listenFailure({ host, port, what: variable, variable }, error);
  });
}

/** One child of `up` whose process is this one: it starts and dies as often as told. */
class Child {
  readonly ports: ChildPorts;
  readonly #reserved: Set<number>;
  #servers: readonly Server[] = [];

  constructor(configured: Readonly<Record<string, ChildPort>>, reserved: Set<number>) {
    this.ports = new ChildPorts(configured);
    this.#reserved = reserved;
    onTestFinished(() => this.die());
  }

  get numbers(): readonly number[] {
    return this.#servers.map(portOf);
  }

  async start(open: (ports: RolePorts, environment: NodeJS.ProcessEnv) => Promise<readonly Server[]>): Promise<void> {
    const environment = { ...this.ports.environment, [reservedPortsVariable]: [...this.#reserved].join(',') };
    const told = (message: ListensMessage | PortTakenMessage) => {
      if (message.kind === 'listens') this.ports.report(message.ports);
    };
    try {
      this.#servers = await open(new RolePorts(environment, told), environment);
    } catch (error) {
      // As `up` does: a listener of another cluster may have got the port of this one while it was down.
      if (!(error instanceof ListenFailure) || this.ports.taken(error.listener.variable, false) === undefined)
        throw error;
      await this.start(open);
    }
  }

  async die(): Promise<void> {
    await Promise.all(this.#servers.map(close));
    this.#servers = [];
  }
}

const coordinator = async (ports: RolePorts, environment: NodeJS.ProcessEnv) => {
  const variable = variables.coordinator;
  const open = (port: number) => listen(variable, port);
  return [await ports.open(variable, Number(environment[variable]), { open, portOf, close })];
};

const gateway = (ports: RolePorts, environment: NodeJS.ProcessEnv) => {
  const configured = Object.fromEntries(
    [variables.http, variables.grpc].map((name) => [name, Number(environment[name])]),
  );
  return ports.openLasting(configured, async (chosen) => {
    const servers: Server[] = [];
    try {
      for (const [variable, port] of Object.entries(chosen)) servers.push(await listen(variable, port));
      return servers;
    } catch (error) {
      await Promise.all(servers.map(close));
      throw error;
    }
  });
};

describe('the ports of a role', () => {
  test('never are those that the configuration gives to another listener, at no start', async () => {
    // Every second one of the odd ports, which Linux gives first.
    const reserved = new Set(Array.from({ length: 16_384 }, (_, index) => 4 * index + 1));
    const child = new Child({ [variables.coordinator]: { configured: 0 } }, reserved);
    for (let start = 0; start < 16; start += 1) {
      await child.start(coordinator);
      expect(reserved.has(child.numbers[0]!)).toBe(false);
      await child.die();
      child.ports.taken(variables.coordinator, false);
    }
  });

  test('of 40 clusters side by side are its own through every restart', async () => {
    const announced = { configured: 0, isAnnounced: true };
    const clusters = Array.from({ length: 40 }, () => {
      const reserved = new Set<number>();
      return {
        reserved,
        coordinator: new Child({ [variables.coordinator]: { configured: 0 } }, reserved),
        gateway: new Child({ [variables.http]: announced, [variables.grpc]: announced }, reserved),
      };
    });
    const told = new Map<object, readonly number[]>();
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(
        clusters.map(async (cluster) => {
          await Promise.all([cluster.coordinator.start(coordinator), cluster.gateway.start(gateway)]);
          for (const port of cluster.gateway.numbers) cluster.reserved.add(port);
          told.set(cluster, told.get(cluster) ?? cluster.gateway.numbers);
          expect(cluster.gateway.numbers).toEqual(told.get(cluster));
        }),
      );
      const all = clusters.flatMap((each) => [...each.coordinator.numbers, ...each.gateway.numbers]);
      expect(new Set(all).size).toBe(120);
      // A round later half of the coordinators find strangers at their ports.
      const strangers = await Promise.all(
        clusters.map(async (cluster, index) => {
          const [port = 0] = cluster.coordinator.numbers;
          await Promise.all([cluster.coordinator.die(), cluster.gateway.die()]);
          if (index % 2 === 1) return undefined;
          const stranger = await listen('', port);
          return stranger;
        }),
      );
      onTestFinished(async () => {
        for (const stranger of strangers) await (stranger && close(stranger));
      });
    }
  });

  test('of a role that runs by itself are as its settings say: 0 is the system’s choice', async () => {
    const alone = new RolePorts({}, undefined);
    const servers = await gateway(alone, { [variables.http]: '0', [variables.grpc]: '0' });
    onTestFinished(async () => {
      await Promise.all(servers.map(close));
    });
    expect(servers.map(portOf).every((port) => port > 0)).toBe(true);
    expect(alone.reportTaken(listenFailure({ host, port: 1, what: '', variable: '' }, { code: 'EADDRINUSE' }))).toBe(
      false,
    );
  });
});
