/** Makes an application a favourite of the reader in this browser. */
import { favourites, toggleFavourite } from '../model/recent.ts'

export function Star({ application }: { application: string }) {
  const isOn = favourites.value.includes(application)
  return (
    <button
      type="button"
      class={`star ${isOn ? 'is-on' : ''}`}
      aria-pressed={isOn}
      aria-label={`Favourite: ${application}`}
      title={isOn ? 'Remove from favourites' : 'Show first'}
      data-key="*"
      onClick={() => toggleFavourite(application)}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="m8 1.75 1.95 3.95 4.3.65-3.1 3.05.7 4.3L8 11.7l-3.85 2 .7-4.3-3.1-3.05 4.3-.65z" />
      </svg>
    </button>
  )
}
