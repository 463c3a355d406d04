#!/usr/bin/env node
/**
 * The entry point of the command line, in syntax that every Node since 12 can parse: it loads the command line if this Node can
 * run it and the packages are there, and otherwise says in one line what is missing. Commands of operators need a later Node
 * than those against an instance.
 */
import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The major version that package.json names under `engines`: the one that is tested. */
const neededNode = 26
/** Enough for commands against an instance. */
const neededByClient = 22

const root = fileURLToPath(new URL('../', import.meta.url)).replace(/\/$/, '')
const isClone = import.meta.url.endsWith('/bin/fairlead.js')

function main() {
  const major = parseInt(process.versions.node, 10)
  if (major < neededByClient) return refuse(adviseNode())
  // Not awaited at the top level, which old versions cannot parse.
  return import('@fairlead/cli/main.ts')
    .then(({ run }) => run(process.argv.slice(2), (args) => runOperator(major, args)))
    .catch((error) => {
      const missing = findMissingPackage(error)
      if (missing === undefined) throw error
      refuse(
        `Fairlead cannot start: the package ${missing} is missing. Run "npm ci" in ${root}, then try again.`,
      )
    })
}

/**
 * @param {number} major
 * @param {readonly string[]} args
 */
function runOperator(major, args) {
  if (major < neededNode) return refuse(adviseNode())
  if (major > neededNode) process.stderr.write(warnOfNode())
  return prepareImports()
    .then(prepareConsole)
    .then(() => import('./fairlead.ts'))
    .then(({ run }) => run(args))
}

/** A clone has thousands of files, whose places Node need not look for. */
function prepareImports() {
  if (!isClone) return Promise.resolve()
  // In a variable, so that no bundle loads it first.
  const script = '../packages/base/runtime/own-imports.ts'
  return import(script)
}

/** A clone builds the web console when it is missing or older than its sources; without it, everything else is served. */
function prepareConsole() {
  if (!isClone || process.argv[2] !== 'serve') return Promise.resolve()
  // In a variable, so that no bundle contains the script.
  const script = '../scripts/build-console.ts'
  return import(script)
    .then(({ refreshConsole }) => refreshConsole())
    .catch((error) => {
      if (findMissingPackage(error) !== undefined) throw error
      process.stderr.write(`The web console cannot be built: ${error.message}\n`)
    })
}

function warnOfNode() {
  return `Fairlead is tested with Node ${neededNode}, and this is Node ${process.versions.node}. Use Node ${neededNode} if something fails.\n`
}

function adviseNode() {
  const fault = `Fairlead needs Node ${neededNode} or newer, and this is Node ${process.versions.node} (${process.execPath}).`
  if (!isClone)
    return `${fault} Install a newer one, for example from https://nodejs.org/en/download, then try again.`
  if (existsSync(`${root}/node_modules/node/bin/node`)) {
    const [node, script] = ['node_modules/.bin/node', 'bin/fairlead.js'].map(pathOf)
    return `${fault} Use the one of this clone: ${[node, script].concat(process.argv.slice(2).map(quote)).join(' ')}`
  }
  const cause = existsSync(`${root}/node_modules`) ? ' without --ignore-scripts' : ''
  return `${fault} Run "npm ci"${cause} in ${root}, which brings a newer one, then "npm start".`
}

/** @param {string} file */
function pathOf(file) {
  const near = relative(process.cwd(), `${root}/${file}`)
  return quote(near.startsWith('..') ? `${root}/${file}` : near)
}

/** @param {string} word For a shell. */
function quote(word) {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`
}

/** @param {unknown} error */
function findMissingPackage(error) {
  const { code, message } = /** @type {{ code?: unknown, message?: unknown }} */ (Object(error))
  if (!isClone || code !== 'ERR_MODULE_NOT_FOUND') return undefined
  const match = /^Cannot find package '([^']+)'/.exec(String(message))
  return match === null ? undefined : match[1]
}

/** @param {string} text */
function refuse(text) {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

main()
