"""What tests of several rooms share: tables, twins, other people's programs."""
