/** docs/configuration.md: every variable of cli/settings/variables.ts, and the content of the data directory. */

import { dataFormats } from '../../cli/cluster-files/data-format.ts';
import { type Variable, variables } from '../../cli/settings/variables.ts';

export function configurationPage(): string {
  const rows = Object.entries(variables as Readonly<Record<string, Variable<unknown>>>).map(([name, entry]) => {
    const fallback = entry.fallback === undefined ? '' : `\`${entry.kind.print(entry.fallback)}\``;
    const secret = entry.secret ? ' Secret: never shown.' : '';
    const cells = [`\`${name}\``, entry.kind.allowed, fallback, entry.roles.join(', '), entry.description + secret];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return `<!-- Made from cli/settings/variables.ts by "npm run docs". Do not edit. -->
# Configuration

Everything is set with environment variables. All are checked when a command starts: a bad value ends it with one line
that names the variable, and exit code 2. A \`SIGNMESH_\` variable that does not exist is a warning that names the nearest
one. An empty value counts as unset.

| Variable | Value | Default | Read by | What it does |
|---|---|---|---|---|
${rows.join('\n')}

\`signmesh up\` reads them all, passes each child what its role reads, and chooses the rest: the ports of the coordinator
and of the private Redis, and its password. \`--port\` (REST), \`--grpc-port\`, \`--seed\`, \`--nodes\` and \`--data-dir\` go before the
variables of the same meaning. \`signmesh tokens\` issues for the sandbox's tenant unless \`--tenant\` names another.

docker-compose.yml reads one more:

| Variable | Value | What it does |
|---|---|---|
| \`SIGNMESH_REDIS_PASSWORD\` | a text without characters that a URL escapes | The password of its Redis, set there and part of every role's \`REDIS_URL\`. Needed; it has no default. |

\`signmesh up\` stops when the process that started it has ended, so that nothing is left behind: a shell that ends takes it
along, with \`nohup\` and \`&\` too. \`signmesh up --detach\` ends when the cluster is ready and leaves it running, with what \`up\` says in
\`logs/up.log\`; until it is ready, the cluster ends with the command. Then, for the same data directory:

| Command | What it does |
|---|---|
| \`signmesh status\` | says how the cluster is, where it listens, and the ids and memory of its processes; exit 0 if it serves (also degraded), 1 if not; \`--json\` |
| \`signmesh logs [process…]\` | prints the last 100 lines of all logs by time (\`--lines\`), and with \`--follow\` what comes; \`--raw\` as they were logged |
| \`signmesh stop\` | stops the cluster in order, and ends when it has stopped; exit 0 also when nothing ran |

## The data directory

| Path | What | Secret |
|---|---|---|
| \`cluster.json\` | the roster: the members of the cluster, pinned by every process; and the number of the data format | no |
| \`join.secret\` | the secret with which the members of the cluster authenticate each other | yes |
| \`sandbox.json\` | the two tokens of the banner, and the public seed of the ready-made keys; a seed of your own is nowhere: \`node-N/sandbox.key\` is that node's part | with a seed of your own |
| \`clock.json\` | the offsets of a sandbox's clocks, once one has moved; of a further cluster in its folder | no |
| \`coordinator/\`, \`gateway/\`, \`node-N/\` | the identity and keys of one process, and a node's store | yes |
| \`coordinator/resume.key\` | the key of resume tokens and of the MACs of sessions and keys in Redis: without it these records are refused as tampered with | yes |
| \`gateway/receipt.key\` | the seed of the identity that signs policy receipts | yes |
| \`gateway/record.key\` | seals the records in Redis; workers have it too | yes |
| \`gateway/records.json\` | whether the records of an earlier version have got their MACs | no |
| \`gateway/credential-keys/\` | the keys that seal provider credentials, \`1.key\` and up; the highest is current | yes |
| \`cluster-2/\`, … | the same of each further cluster: \`cluster.json\`, \`join.secret\`, \`coordinator/\`, \`node-N/\` | yes |
| \`core/redis/\` | the private Redis: its configuration and its append-only file | yes |
| \`snapshots/\` | snapshots of a sandbox: its Redis and its nodes' stores | yes |
| \`logs/\` | one JSON-lines file a process, and \`up.log\` of \`up --detach\` | no |
| \`run/\` | the running processes: their ids, the lock, the last ready line | the tokens |

Directories are 0700 and files 0600. A process whose secret files other users can read, or whose data directory they can
write to, logs \`files.exposed\` at its start, with the \`chmod\` that repairs it. Nothing in it is made anew once \`cluster.json\` stands; what a newer
version needs of a gateway's own is added by \`up\` and \`init\`. To start afresh, stop the
cluster and remove the directory.

### Data formats

One number names the format of all stored data: this directory, its Redis, the nodes' stores and the snapshots.
It stands in \`cluster.json\` and in each snapshot, and every role checks it before it reads anything else. A version
refuses what another one stored, except where a row below says otherwise, in one line that says what to do: remove the directory (\`rm -r .signmesh\`; with
docker compose \`docker compose down --volumes\`) and start again, or choose another \`--data-dir\`. A snapshot of a
refused format is a 409 when it is restored.

| Data format | What it has |
|---|---|
${dataFormats.map(({ format, what }) => `| ${format} | ${what} |`).join('\n')}
`;
}
