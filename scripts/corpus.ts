/** Prints what becomes of the corpus in `test/corpus`: `npm run corpus`. */
import { configurationSets } from '../test/corpus/configurations.ts'
import { definitions } from '../test/corpus/definitions.ts'
import { documents } from '../test/corpus/documents.ts'
import { tryConfiguration } from '../test/corpus/try-configuration.ts'
import { prepareCorpus, tryDefinitions } from '../test/corpus/try-definitions.ts'
import { tryDocuments } from '../test/corpus/try-documents.ts'
import { runGateway } from '../test/support/gateway.ts'

const closing: (() => unknown)[] = []
const { url } = await runGateway(
  { after: (close) => void closing.push(close as () => unknown) },
  {},
  { embedded: true },
)
await prepareCorpus(url)
const tried = await tryDefinitions(url, definitions)
console.table(
  Object.fromEntries(
    Object.entries(Object.groupBy(tried, ({ kind }) => kind)).map(([kind, all = []]) => [
      kind,
      {
        definitions: all.length,
        'with findings': all.filter(({ hasFindings }) => hasFindings).length,
        planned: all.filter(({ planned }) => planned).length,
        started: all.filter(({ started }) => started).length,
        wrong: all.filter(({ faults }) => faults.length > 0).length,
      },
    ]),
  ),
)
const others = await tryDocuments(url, documents)
console.table(
  Object.fromEntries(
    Object.entries(Object.groupBy(others, ({ kind }) => kind)).map(([kind, all = []]) => [
      kind,
      {
        documents: all.length,
        'with findings': all.filter(({ hasFindings }) => hasFindings).length,
        wrong: all.filter(({ faults }) => faults.length > 0).length,
      },
    ]),
  ),
)
const sets = []
for (const [name, set] of Object.entries(configurationSets))
  sets.push({ name, ...(await tryConfiguration(set)) })
console.table(
  Object.fromEntries(
    Object.entries(Object.groupBy(sets, ({ outcome }) => outcome)).map(([outcome, all = []]) => [
      `configurations: ${outcome}`,
      { sets: all.length, 'named keys': all.reduce((sum, { named }) => sum + named, 0) },
    ]),
  ),
)
const faults = [...tried, ...others, ...sets].flatMap((each) =>
  each.faults.map((fault) => `${each.name}: ${fault}`),
)
for (const fault of faults) console.log(fault)
process.exitCode = faults.length > 0 ? 1 : 0
for (const close of closing) await close()
