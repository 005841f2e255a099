"""The maintenance process: conversion, compaction, retention and what a crash left behind."""
