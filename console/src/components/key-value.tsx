/** Facts of one thing: name and value. */
import type { ComponentChildren } from 'preact'
import { Name } from './text.tsx'

export type Fact = readonly [name: string, value: ComponentChildren]

/** Facts without a value are left out; a text is shown as a name. */
export function KeyValue({ facts }: { facts: readonly Fact[] }) {
  const given = facts.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== '')
  return (
    <dl class="key-value">
      {given.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? <Name text={value} max={400} /> : value}</dd>
        </div>
      ))}
    </dl>
  )
}
