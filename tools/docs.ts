/**
 * Pages of docs/, and the client's types, that are generated from code. `npm run docs` writes them; `npm test` fails when one is
 * outdated.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exitCodes } from '../cli/common/failure.ts';
import { readIfThere } from '../cli/common/files.ts';
import { clientApiModule } from './docs/client-api.ts';
import { configurationPage } from './docs/configuration.ts';
import { faultTypesModule } from './docs/fault-types.ts';
import { faultsPage } from './docs/faults.ts';
import { architecturePage } from './docs/folders.ts';
import { metricsPage } from './docs/metrics.ts';
import { reasonCodesPage } from './docs/reason-codes.ts';
import { sandboxApiPage } from './docs/sandbox-api.ts';
import { scenarioOperationsModule } from './docs/scenario-operations.ts';
import { scenarioSchemaFile, scenariosPage } from './docs/scenarios.ts';
import { signingApiPage } from './docs/signing-api.ts';
import { signingRoundPage } from './docs/signing-round.ts';
import { tokensPage } from './docs/tokens.ts';
import { treasuryPage } from './docs/treasury.ts';
import { walletApiPage } from './docs/wallet-api.ts';

interface Page {
  /** From the root of the repository. */
  readonly path: string;
  /** From the present page: some have hand-written parts. */
  readonly render: (standing: string) => string;
}

const generatedPages: readonly Page[] = [
  { path: 'ARCHITECTURE.md', render: architecturePage },
  { path: 'clients/client/generated-api.ts', render: clientApiModule },
  { path: 'docs/configuration.md', render: configurationPage },
  { path: 'docs/faults.md', render: faultsPage },
  { path: 'docs/metrics.md', render: metricsPage },
  { path: 'docs/reason-codes.md', render: reasonCodesPage },
  { path: 'docs/sandbox-api.md', render: sandboxApiPage },
  { path: 'docs/scenarios.md', render: scenariosPage },
  { path: 'docs/signing-api.md', render: signingApiPage },
  { path: 'docs/signing-round.md', render: signingRoundPage },
  { path: 'docs/tokens.md', render: tokensPage },
  { path: 'docs/treasury.md', render: treasuryPage },
  { path: 'docs/wallet-api.md', render: walletApiPage },
  { path: 'scenarios/faults/vocabulary/generated-types.ts', render: faultTypesModule },
  { path: 'scenarios/runner/generated-operations.ts', render: scenarioOperationsModule },
  { path: 'scenarios/schema.json', render: scenarioSchemaFile },
];

/** The paths of the pages that differ from the code. */
export function stalePages(root: string): string[] {
  const isStale = ({ path, render }: Page): boolean => {
    const standing = readIfThere(join(root, path));
    return standing === undefined || standing !== render(standing);
  };
  return generatedPages.filter(isStale).map(({ path }) => path);
}

/** `signmesh docs`: writes every generated page. */
export async function run(): Promise<number> {
  for (const { path, render } of generatedPages) {
    const standing = readIfThere(path) ?? '';
    const current = render(standing);
    if (current === standing) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, current);
    process.stdout.write(`${path} written\n`);
  }
  return exitCodes.ok;
}
