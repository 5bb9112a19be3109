

  // So many steps in place, from the state in arrays; returns a status.
  run(steps) {
    const places = this.places;
    return this.code.{{name}}_run(steps, ...places.slice(0, inputs.length), places[places.length - 1], 0);
  }