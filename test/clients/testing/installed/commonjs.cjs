/** Run by node: a signature from a CommonJS module. */
const { cluster } = require('signmesh/testing');

async function main() {
  const custody = await cluster({ nodes: 3 });
  const key = await custody.makeKey({ threshold: 2, totalNodes: 3 });
  const { signature } = await custody.sign(key, 'pay 5 to alice');
  await custody.stop();
  process.stdout.write(`${signature.length}\n`);
}
main();
