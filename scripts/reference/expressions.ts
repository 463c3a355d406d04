/** The reference page of expressions, in Markdown. */
import { expressionFunctions } from '../../packages/engine/orchestration/expressions/functions.ts'
import { javaClasses } from '../../packages/engine/orchestration/expressions/java/classes.ts'
import type { JavaClass } from '../../packages/engine/orchestration/expressions/java/java-class.ts'
import { methods } from '../../packages/engine/orchestration/expressions/methods.ts'

export function formatExpressions(): string {
  const functions = expressionFunctions.map(
    ({ name, parameters, description }) =>
      `| \`#${name}(${parameters.map((each) => each.name).join(', ')})\` | ${description}${detailsOf(parameters)} |`,
  )
  const values = Object.entries(methods).map(
    ([kind, own]) => `| ${kinds[kind as keyof typeof methods]} | ${listOf(own)} |`,
  )
  return `Functions, methods and classes of expressions. Nothing else can be called; the error names what is not there.
[How expressions are evaluated](../contracts/orchestration.md#expression-language).

## Functions

| Function | Value |
|---|---|
${functions.join('\n')}

Functions with an address read it once for each stage, when the stage begins, with the
[restrictions of webhooks](settings.md). A stage reads at most 20 addresses and applications.

## Methods of values

| Value | Methods |
|---|---|
${values.join('\n')}

Executions and stages are read as Java reads beans: \`status\`, \`["Status"]\` and \`getStatus()\` are one. A status has \`name()\`, \`isComplete()\`,
\`isHalt()\`, \`isSuccessful()\` and \`isFailure()\`; getters without arguments are properties, too: \`status.successful\`, \`text.empty\`. What
\`split\` gives has a \`length\`.

## What is refused

| Instead of | Write |
|---|---|
| \`parameters.x = 5\`, \`x++\` | a stage of the type \`evaluateVariables\`; nothing is assigned |
| \`@bean.method()\` | a function with \`#\` |
| \`x instanceof T(String)\` | a comparison of the value, such as \`x matches '.*'\` |
| \`x.getClass()\`, \`T(java.lang.System)\`, \`T(java.lang.Runtime)\`, classes that the table below lacks | the classes of the table; environment and files of the server are out of reach |
| \`list.stream().map(…)\`, \`forEach\`, lambdas | \`list.![expression]\` for each, \`list.?[condition]\` to choose, \`.^[…]\` the first, \`.$[…]\` the last |
| \`list.add(x)\`, \`map.put(k, v)\`, \`remove\`, \`sort\` | a new list \`{a, b}\` or object \`{k: v}\`; values do not change |
| \`Pattern.compile(…)\` | \`text matches 'pattern'\`, \`text.replaceAll(…)\`, \`text.split(…)\` |
| \`text.chars()\`, \`text.toCharArray()\` | \`text.split('')\` |
| \`#fromUrl\` with a login or within the network | a \`webhook\` stage |
| texts over a million characters, expressions over 10,000, patterns that take too long | smaller ones: the error says which limit |

## Java classes

\`new\` creates an object, \`T(class)\` names a class: \`new java.text.SimpleDateFormat('yyyy-MM-dd').format(new java.util.Date())\`,
\`T(java.time.LocalDate).now().plusDays(5).toString()\`. Classes of \`java.lang\` need no package: \`T(Math).max(1, 2)\`.

Dates are in UTC unless the expression names a zone. A \`java.util.Date\` that is the whole value becomes its milliseconds since 1970, every
other object its text. Collections are lists and objects of JSON, and nothing changes them once they exist. Objects have \`toString\`,
\`equals\` and \`compareTo\`, and \`==\` and \`<\` compare those of one class.

| Class | \`new\` | Static methods and constants | Methods |
|---|---|---|---|
${javaClasses.map(formatClass).join('\n')}`
}

const kinds: Readonly<Record<keyof typeof methods, string>> = {
  text: 'text',
  list: 'list',
  map: 'object',
  number: 'number',
  other: 'everything else',
}

function detailsOf(parameters: readonly { name: string; description: string }[]): string {
  return parameters.map(({ name, description }) => ` \`${name}\`: ${description}.`).join('')
}

function formatClass({ name, create, statics, constants, methods: own }: JavaClass): string {
  return `| \`${name}\` | ${create === undefined ? '' : 'yes'} | ${listOf(statics, constants)} | ${listOf(own)} |`
}

function listOf(...members: readonly (object | undefined)[]): string {
  return members.flatMap((each) => Object.keys(each ?? {}).map((name) => `\`${name}\``)).join(' ')
}
