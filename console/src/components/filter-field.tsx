/** Filters that live in the address, so that a link shows the same. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatQuery, useQueryChange } from '../address.ts'
import { capital } from '../words.ts'
import { ActionButton, Button } from './button.tsx'
import { type Choice, Options } from './form-fields.tsx'
import { EmptyState } from './screen.tsx'
import { Icon } from './text.tsx'

/** A text unless it has choices or is a moment. */
export interface Filter {
  /** Name in the query. */
  readonly name: string
  readonly label: string
  /** Values that are their own words, or values and their words. */
  readonly choices?: readonly Choice[]
  /** What leaves all, or is usual; “Any” and the label unless given. */
  readonly any?: string
  /** Offered from so many choices on; usually one is no choice. */
  readonly least?: number
  /** `asked`: a text by which the server filters, when the reader has paused. */
  readonly kind?: 'asked' | 'moment'
  /** Replaces the value of the query. */
  readonly value?: string
  /** Further values of the query that belong to the former choice. */
  readonly clears?: readonly string[]
}

/** What an address chooses of them, in words; empty for all. */
export function filterWords(
  filters: readonly Filter[],
  query: Readonly<Record<string, string>>,
): string {
  const words = filters.map(({ name, choices = [] }) => {
    const choice = choices.find((each) => each[0] === query[name] && typeof each !== 'string')
    return choice?.[1] ?? query[name]
  })
  return [...new Set(words)].filter(Boolean).join(', ')
}

/** By one of these values. */
export function choiceOf(name: string, all: readonly string[]): Filter {
  const choices = [...new Set(all)]
    .filter((each) => each !== '')
    .toSorted((a, b) => a.localeCompare(b))
  return { name, label: capital(name), any: `All ${name}s`, choices }
}

interface FiltersProps {
  readonly filters: readonly Filter[]
  /** Beside the fields. */
  readonly note?: ComponentChildren
  /** Where the filters leave nothing: what they are, in words. Stands instead of the children. */
  readonly noMatch?: string
  readonly children?: ComponentChildren
}

export function Filters({ filters, note, noMatch, children }: FiltersProps) {
  return (
    <>
      <div class="filters">
        {filters.map((filter) => (
          <FilterField key={filter.name} {...filter} />
        ))}
        {note}
      </div>
      {noMatch === undefined ? (
        children
      ) : (
        <NoMatch text={noMatch} filters={filters.map(({ name }) => name)} />
      )}
    </>
  )
}

/** Another filter begins at the newest. */
export const firstPage = { start: undefined, before: undefined }

/** A choice is absent where there is nothing to choose. */
export function FilterField(filter: Filter) {
  const {
    name,
    label,
    choices,
    any = `Any ${label.toLowerCase()}`,
    least = 2,
    kind,
    clears = [],
  } = filter
  const { query } = useLocation()
  const change = useQueryChange()
  const value = ('value' in filter ? filter.value : query[name]) ?? ''
  const apply = (text: string) =>
    change({
      ...Object.fromEntries(clears.map((other) => [other, undefined])),
      ...firstPage,
      [name]: text || undefined,
    })
  const onChange = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    apply(currentTarget.value)
  if (kind === 'moment') {
    return (
      <label>
        {label}
        <input type="datetime-local" value={value} onChange={onChange} />
      </label>
    )
  }
  if (choices === undefined)
    return (
      <Text
        label={label}
        value={value}
        pauseMs={kind === 'asked' ? askedPauseMs : 0}
        apply={apply}
      />
    )
  if (choices.length < least && value === '') return null
  return (
    <select aria-label={label} value={value} onChange={onChange}>
      <Options choices={[['', any], ...choices]} value={value} />
    </select>
  )
}

/** How long a reader pauses before the server is asked. */
const askedPauseMs = 350

interface TextProps {
  readonly label: string
  readonly value: string
  readonly pauseMs: number
  readonly apply: (text: string) => void
}

function Text({ label, value, pauseMs, apply }: TextProps) {
  // A key shows at once, and the list follows in a task of its own.
  const [typed, setTyped] = useState<string>()
  useEffect(() => {
    if (typed === undefined) return
    const timer = setTimeout(() => {
      setTyped(undefined)
      apply(typed)
    }, pauseMs)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={typed ?? value}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  )
}

/** Instead of a list that the filter leaves empty. @param filters Values of the query that are the filter */
export function NoMatch({ text, filters = ['q'] }: { text: string; filters?: readonly string[] }) {
  const change = useQueryChange()
  return (
    <EmptyState icon="search" text={text}>
      <Button onClick={() => change(Object.fromEntries(filters.map((name) => [name, undefined])))}>
        Clear filters
      </Button>
    </EmptyState>
  )
}

type Changes = Readonly<Record<string, string | undefined>>

interface PagesProps {
  /** Changes of the query that lead there; undefined where there is no such page. */
  readonly newer: Changes | '' | undefined
  readonly older: Changes | '' | undefined
  /** How many the page shows. */
  readonly children: ComponentChildren
}

export function Pages({ newer, older, children }: PagesProps) {
  const { path, query } = useLocation()
  const pageAt = (changes: Changes) => path + formatQuery({ ...query, ...changes })
  return (
    <nav class="panel-note row pages" aria-label="Pages">
      <span class="muted number">{children}</span>
      {newer && (
        <ActionButton action={{ label: 'Newer', icon: 'left', href: pageAt(newer) }} small />
      )}
      {older && (
        <a class="button small" href={pageAt(older)}>
          Older <Icon name="right" />
        </a>
      )}
    </nav>
  )
}
