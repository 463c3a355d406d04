/** Filters that live in the address, so that a link shows the same. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatQuery } from '../address.ts'
import { Button } from './button.tsx'
import { EmptyState } from './states.tsx'

/** A text unless it has choices or is a moment. */
export interface Filter {
  /** In the query. */
  readonly name: string
  readonly label: string
  /** Values that are their own words, or values and their words. */
  readonly choices?: readonly (string | readonly [value: string, text: string])[]
  /** What leaves all, or is usual; “Any” and the label unless given. */
  readonly any?: string
  /** Offered from so many choices on; usually one is no choice. */
  readonly least?: number
  /** `asked`: a text by which the server filters, when the reader has paused. */
  readonly kind?: 'asked' | 'moment'
  /** Instead of that of the query. */
  readonly value?: string | undefined
  /** Further values of the query that belong to the former choice. */
  readonly clears?: readonly string[]
}

/** What an address chooses of them, in words; empty for all. */
export function filterWords(filters: readonly Filter[], query: Readonly<Record<string, string>>): string {
  const words = filters.map(({ name, choices = [] }) => {
    const choice = choices.find((each) => each[0] === query[name] && typeof each !== 'string')
    return choice?.[1] ?? query[name]
  })
  return [...new Set(words)].filter(Boolean).join(', ')
}

interface FiltersProps {
  readonly filters: readonly Filter[]
  /** Beside the fields. */
  readonly note?: ComponentChildren
  /** Where the filters leave nothing: what they are, in words. Stands instead of the children. */
  readonly noMatch?: string | undefined
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
      {noMatch === undefined ? children : <NoMatch text={noMatch} filters={filters.map(({ name }) => name)} />}
    </>
  )
}

/** Another filter begins at the newest. */
export const firstPage = { start: undefined, before: undefined }

/** How long a reader pauses before the server is asked. */
const askedPauseMs = 350

export function FilterField(filter: Filter) {
  const { name, label, choices, kind, clears = [] } = filter
  const { query } = useLocation()
  const change = useQueryChange()
  const value = ('value' in filter ? filter.value : query[name]) ?? ''
  const apply = (text: string) =>
    change({ ...Object.fromEntries(clears.map((other) => [other, undefined])), ...firstPage, [name]: text || undefined })
  if (choices !== undefined) return <Choice {...filter} choices={choices} value={value} apply={apply} />
  if (kind !== 'moment') return <Text label={label} value={value} pauseMs={kind === 'asked' ? askedPauseMs : 0} apply={apply} />
  return (
    <label>
      {label}
      <input type="datetime-local" value={value} onChange={(event) => apply(event.currentTarget.value)} />
    </label>
  )
}

/** Replaces values of the query in the address of the page. */
export function useQueryChange(): (changes: Readonly<Record<string, string | undefined>>) => void {
  const { route: navigate } = useLocation()
  return (changes) => {
    const query = Object.fromEntries(new URLSearchParams(location.search))
    navigate(location.pathname + formatQuery({ ...query, ...changes }), true)
  }
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly apply: (text: string) => void
}

function Text({ label, value, pauseMs, apply }: FieldProps & { readonly pauseMs: number }) {
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const timer = useRef(0)
  useEffect(() => () => clearTimeout(timer.current), [])
  const onInput = ({ currentTarget: { value: text } }: { readonly currentTarget: HTMLInputElement }) => {
    if (pauseMs === 0) return apply(text)
    setTyped(text)
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      setTyped(undefined)
      apply(text)
    }, pauseMs)
  }
  return <input type="search" aria-label={label} placeholder={label} value={typed ?? value} onInput={onInput} />
}

/** Absent where there is nothing to choose. */
function Choice({
  label,
  value,
  choices,
  any = `Any ${label.toLowerCase()}`,
  least = 2,
  apply,
}: FieldProps & Filter & Required<Pick<Filter, 'choices'>>) {
  const options = choices.map((choice) => (typeof choice === 'string' ? ([choice, choice] as const) : choice))
  if (options.length < least && value === '') return null
  const isKnown = value === '' || options.some(([option]) => option === value)
  return (
    <select aria-label={label} value={value} onChange={(event) => apply(event.currentTarget.value)}>
      {[['', any] as const, ...(isKnown ? [] : [[value, value] as const]), ...options].map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  )
}

interface NoMatchProps {
  /** Names the filter. */
  readonly text: string
  /** Values of the query that are the filter. */
  readonly filters?: readonly string[]
}

/** Instead of a list that the filter leaves empty. */
export function NoMatch({ text, filters = ['q'] }: NoMatchProps) {
  const change = useQueryChange()
  return (
    <EmptyState icon="search" text={text}>
      <Button onClick={() => change(Object.fromEntries(filters.map((name) => [name, undefined])))}>Clear filters</Button>
    </EmptyState>
  )
}
