// Figures as people read them.

/** 1234567 as 1,234,567. */
export const count = (number) => Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ',');

/** Three digits that count, with a unit for what is large: 0.5, 12, 1.23k, 45.6M. */
export function short(number) {
  if (number === 0) return '0';
  for (const [size, unit] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (number >= size * 0.9995) return digits(number / size) + unit;
  }
  return number >= 100 || Number.isInteger(number) ? String(Math.round(number)) : number.toFixed(number < 10 ? 1 : 0);
}

const digits = (number) => (number >= 99.95 ? number.toFixed(0) : number >= 9.995 ? number.toFixed(1) : number.toFixed(2));

/** Nanoseconds, with the unit that suits. */
export function nanos(ns) {
  if (ns == null) return '–';
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${digits(ns / 1e3)} µs`;
  if (ns < 1e9) return `${digits(ns / 1e6)} ms`;
  return ns < 60e9 ? `${digits(ns / 1e9)} s` : span(ns / 1e6);
}

/** Milliseconds as a time that passes on a screen: no finer than a tenth of a second, so that it does not flicker. */
export function span(ms) {
  if (ms == null) return '–';
  const seconds = ms / 1e3;
  if (seconds < 1) return seconds < 0.1 ? '< 0.1 s' : `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.floor(seconds)} s`;
  const [minutes, hours, days] = [seconds / 60, seconds / 3600, seconds / 86400].map(Math.floor);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${days} d ${hours % 24} h`;
}

export function bytes(number) {
  return number < 1e3 ? `${number} bytes` : `${digits(number / (number < 1e6 ? 1e3 : 1e6))} ${number < 1e6 ? 'kB' : 'MB'}`;
}

export const plural = (number, one) => `${count(number)} ${one}${number === 1 ? '' : 's'}`;

/** As `short`, for the ends of axes: without zeros that say nothing. */
export const tick = (number) => short(number).replace(/(\.\d*?)0+(?=[kMGT]$)/, '$1').replace(/\.(?=[kMGT]$)/, '');

/** The smallest of 1, 2, 5, 10, 20 ... that is not below. */
export function niceAbove(number) {
  const base = 10 ** Math.floor(Math.log10(Math.max(number, 1)));
  return [1, 2, 5, 10].map((step) => step * base).find((step) => step >= number) ?? base * 10;
}
